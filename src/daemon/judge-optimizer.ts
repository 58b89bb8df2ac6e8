import { openSettingsFile } from '../config/save.ts';
import type { Settings } from '../config/settings.ts';
import { formatUsd } from '../money.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';
import { outcomeOf } from '../store/optimizer/outcome.ts';
import { closeTrial, forgetTrials, projectsOnTrial, readTrials } from '../store/optimizer/trials.ts';

export interface JudgeOptions {
  db: Db;
  write: Ledger['write'];
  /** The settings file: there a person finds that the optimizer is off, and switches it on again. */
  file: string;
  settings: () => Settings;
  /** Makes this daemon read what was set. */
  reload: () => Promise<void>;
  now: () => number;
  warn: (message: string) => void;
}

/** Models, prices and what a project does with them change: older evidence is of another time. */
const KEPT_MS = 60 * 86_400_000;

/** How often there is a look at what the trials have come to. */
export const JUDGE_EVERY_MS = 3_600_000;

/** Switches the optimizer off for projects whose bills it has certainly raised. */
export async function judgeOptimizer(options: JudgeOptions): Promise<void> {
  const { db, write, settings, now } = options;
  await write(() => forgetTrials(db, now() - KEPT_MS));
  for (const { id, name } of await projectsOnTrial(db)) {
    const level = settings()['optimizer.projects'][name] ?? settings()['optimizer.level'];
    const outcome = outcomeOf(await readTrials(db, id, level));
    if (!outcome.isCertain) continue;
    await switchOff(options, name);
    await write(() => closeTrial(db, id, { at: now(), ...outcome }));
    await options.reload();
    options.warn(
      `the optimizer is off for project ${name}: it cost ${formatUsd(-outcome.savedNanoUsd)} more than it saved, give or take ${formatUsd(outcome.marginNanoUsd)}. To switch it on again: gw config set optimizer.projects.${name} ${level}`,
    );
  }
}

async function switchOff({ file }: JudgeOptions, project: string): Promise<void> {
  (await openSettingsFile(file)).set(['optimizer', 'projects', project], 'off');
}
