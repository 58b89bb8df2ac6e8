import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { deserialiseLearner } from '../routing/score/codec.ts';
import { learnerPath } from '../routing/score/learner-file.ts';
import type { LearnerState } from '../routing/score/learner-state.ts';

/** What projects have learnt about their prompts, in memory. */
export interface Learners {
  /** As it was read last; a change of the file is noticed a moment after it is asked for. */
  of(project: string): LearnerState | undefined;
  /** Resolves when nothing is being read. */
  whenIdle(): Promise<void>;
}

interface Known {
  state: LearnerState | undefined;
  /** Of the file that it was read from. */
  changedAtMs: number;
  lookedAtMs: number;
  reading: Promise<void> | undefined;
}

export interface LearnersOptions {
  home: string;
  clock: Pick<Clock, 'monotonic'>;
  warn: (message: string) => void;
}

const LOOK_AGAIN_MS = 2_000;

/** Reads the files that `gw route learn` writes: never while a request waits. */
export function createLearners({ home, clock, warn }: LearnersOptions): Learners {
  const projects = new Map<string, Known>();

  async function look(project: string, known: Known): Promise<void> {
    const file = learnerPath(home, project);
    try {
      const { mtimeMs } = await stat(file);
      if (mtimeMs === known.changedAtMs) return;
      known.changedAtMs = mtimeMs;
      known.state = deserialiseLearner(await readFile(file));
      if (!known.state) warn(`${file} is damaged or of another version of gw: the built-in rules score`);
    } catch (error) {
      known.state = undefined;
      known.changedAtMs = 0;
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') warn(`${file}: ${messageOf(error)}`);
    }
  }

  return {
    of(project) {
      let known = projects.get(project);
      if (!known) {
        known = {
          state: undefined,
          changedAtMs: 0,
          lookedAtMs: Number.NEGATIVE_INFINITY,
          reading: undefined,
        };
        projects.set(project, known);
      }
      const now = clock.monotonic();
      if (!known.reading && now - known.lookedAtMs >= LOOK_AGAIN_MS) {
        const current = known;
        known.lookedAtMs = now;
        known.reading = look(project, known).finally(() => {
          current.reading = undefined;
        });
      }
      return known.state;
    },
    async whenIdle() {
      for (const { reading } of projects.values()) await reading;
    },
  };
}
