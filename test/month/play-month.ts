import { diceOf } from '../fuzz/dice.ts';
import { problemsOf } from './problems.ts';
import { playStep } from './steps.ts';
import { createMonth, DAY, type World, type WorldOptions } from './world.ts';

/** Zones with the month that is played in them: each has a change of its clocks, or none, and the end of a month. */
const MONTHS: readonly [zone: string, from: string][] = [
  ['Europe/Berlin', '2026-03-12T08:00:00Z'],
  ['America/New_York', '2026-10-20T13:00:00Z'],
  ['Australia/Lord_Howe', '2026-03-20T22:00:00Z'],
  ['Asia/Kathmandu', '2026-06-10T03:00:00Z'],
  ['Pacific/Apia', '2026-12-14T19:00:00Z'],
  ['America/Santiago', '2026-08-20T12:00:00Z'],
];

export interface Played {
  steps: number;
  days: number;
  cases: number;
  billed: number;
  records: number;
  statuses: Record<string, number>;
  /** How often each kind of step was played. */
  kinds: Record<string, number>;
  /** The first broken promises, with the step that broke them. */
  problems: string[];
}

export interface MonthOptions extends Pick<WorldOptions, 'whenDone' | 'smallDisk'> {
  days?: number;
  maxSteps?: number;
}

/** Plays the month of a seed, up to the first step that breaks a promise. */
export async function playMonth(
  seed: number,
  { days = 31, maxSteps = Infinity, ...options }: MonthOptions,
): Promise<Played> {
  const world = await openMonth(seed, options);
  const from = world.clock.now();
  const kinds: string[] = [];
  let problems: string[] = [];
  const passedDays = () => (world.clock.now() - from) / DAY;
  while (problems.length === 0 && world.step < maxSteps && passedDays() < days) {
    try {
      await playStep(world, diceOf(seed, world.step));
      problems = await problemsOf(world);
    } catch (error) {
      problems = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    }
    kinds.push(world.kind);
    problems = problems.map((problem) => `seed ${seed}, step ${world.step} (${world.kind}): ${problem}`);
  }
  return {
    steps: world.step,
    days: Math.round(passedDays()),
    cases: world.cases.size,
    billed: world.provider.bills.length,
    records: world.records.size,
    statuses: countBy([...world.cases.values()].map(({ status }) => String(status))),
    kinds: countBy(kinds),
    problems,
  };
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

export function openMonth(
  seed: number,
  options: Pick<WorldOptions, 'whenDone' | 'smallDisk'>,
): Promise<World> {
  const [zone, from] = MONTHS[seed % MONTHS.length] ?? ['UTC', '2026-01-01T00:00:00Z'];
  return createMonth({ ...options, zone, startMs: Date.parse(from) });
}
