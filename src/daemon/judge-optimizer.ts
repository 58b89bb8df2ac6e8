import { openSettingsFile } from '../config/save.ts';
import { formatUsd } from '../money.ts';
import { confirmedTime } from '../store/database/retention.ts';
import { outcomeOf } from '../store/optimizer/outcome.ts';
import { closeTrial, forgetTrials, projectsOnTrial, readTrials } from '../store/optimizer/trials.ts';
import type { Core } from './open-core.ts';

/** Models, prices and the project's use of them change, so older evidence no longer applies. */
const KEEP_MS = 60 * 86_400_000;

/** Switches the optimizer off for each project whose bill it has raised with certainty. */
export async function judgeOptimizer(core: Core): Promise<void> {
  const { db, ledger, clock, configuration, paths, warn } = core;
  await ledger.write(() => forgetTrials(db, confirmedTime(db, clock.now()) - KEEP_MS));
  for (const { id, name } of await projectsOnTrial(db)) {
    const { settings } = configuration.current();
    const level = settings['optimizer.projects'][name] ?? settings['optimizer.level'];
    const outcome = outcomeOf(await readTrials(db, id, level));
    if (!outcome.isCertain) continue;
    // The settings file is where a person finds the optimizer off, and can switch it on again.
    (await openSettingsFile(paths.config)).set(['optimizer', 'projects', name], 'off');
    await ledger.write(() => closeTrial(db, id, { at: clock.now(), ...outcome }));
    await configuration.reload();
    warn(
      `switched the optimizer off for project ${name}: it cost ${formatUsd(-outcome.savedNanoUsd)} more than it saved (margin of error: ${formatUsd(outcome.marginNanoUsd)}). To switch it on again: gw config set optimizer.projects.${name} ${level}`,
    );
  }
}
