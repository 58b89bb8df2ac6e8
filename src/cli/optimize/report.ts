import { existsSync } from 'node:fs';
import type { Settings } from '../../config/settings.ts';
import type { OptimizerLevel } from '../../config/values.ts';
import { outcomeOf, type TrialOutcome } from '../../store/optimizer/outcome.ts';
import { projectsOnTrial, readTrials, readVerdicts, type Verdict } from '../../store/optimizer/trials.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { optionalProject, withStore } from '../with-store.ts';

/** The result of a project's optimizer trial. */
export interface OptimizerReport {
  project: string;
  level: OptimizerLevel;
  outcome: TrialOutcome;
  /** The verdict for which it was switched off automatically; undefined if it was not. */
  switchedOff: Verdict | undefined;
}

/** What the compared conversations would have cost without compression, in nano-USD. */
export function billWithout({ models, savedNanoUsd }: TrialOutcome): number {
  const compared = models.filter(({ isCompared }) => isCompared);
  return savedNanoUsd + compared.reduce((sum, { treated }) => sum + treated.costNanoUsd, 0);
}

/** The reports of one project, or of all projects that have trials or verdicts. */
export async function readReports(context: Context, project: string | undefined): Promise<OptimizerReport[]> {
  const { settings } = readSettings(context);
  return withStore(context, async (db) => {
    const verdicts = await readVerdicts(db);
    const onTrial = new Map((await projectsOnTrial(db)).map(({ id, name }) => [name, id]));
    const id = optionalProject(db, project);
    const names = project === undefined ? [...new Set([...onTrial.keys(), ...verdicts.keys()])] : [project];
    return Promise.all(
      names.sort().map(async (name) => {
        const projectId = id ?? onTrial.get(name);
        const level = levelOf(settings, name);
        const trials = projectId === undefined ? [] : await readTrials(db, projectId, level);
        const switchedOff = level === 'off' ? verdicts.get(name) : undefined;
        return { project: name, level, outcome: outcomeOf(trials), switchedOff };
      }),
    );
  });
}

/** Verdicts of the projects for which the optimizer was switched off automatically and still is. */
export async function readSwitchedOff(context: Context): Promise<Map<string, Verdict>> {
  const { settings } = readSettings(context);
  const isOff = Object.values(settings['optimizer.projects']).includes('off');
  if (!isOff || !existsSync(context.paths.database)) return new Map();
  const verdicts = await withStore(context, readVerdicts);
  return new Map([...verdicts].filter(([name]) => levelOf(settings, name) === 'off'));
}

/** The command that switches the optimizer on again. */
export const switchOn = (project: string): string => `gw config set optimizer.projects.${project} safe`;

function levelOf(settings: Settings, project: string): OptimizerLevel {
  return settings['optimizer.projects'][project] ?? settings['optimizer.level'];
}
