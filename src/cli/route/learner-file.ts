import { existsSync, readFileSync } from 'node:fs';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { findProject } from '../../store/accounts/projects.ts';
import { deserialiseLearner } from '../../tiering/learner/codec.ts';
import { learnerPath, writeLearner } from '../../tiering/learner/learner-file.ts';
import { type LearnerState, newLearner, setModels } from '../../tiering/learner/learner-state.ts';
import { modelsFingerprint } from '../../tiering/learner/tier-models.ts';
import { writing } from '../../write-fault.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** The file of a project's learner in the state directory. */
export interface LearnerFile {
  /** The trained learner; undefined if there is none. Throws if the file is damaged. */
  read(): LearnerState | undefined;
  /** A new, untrained learner. */
  begin(): LearnerState;
  write(state: LearnerState): void;
}

/** Opens the learner file of a project. Throws a 404 for an unknown project. */
export async function learnerFileOf(context: Context, project: string): Promise<LearnerFile> {
  // The default project exists even without a database.
  if (project !== DEFAULT_PROJECT) await withStore(context, async (db) => findProject(db, project));
  const file = learnerPath(context.paths.home, project);
  const models = modelsFingerprint(readSettings(context).settings.tiers);
  return {
    begin: () => newLearner(models),
    read() {
      if (!existsSync(file)) return undefined;
      const state = deserialiseLearner(readFileSync(file));
      if (state) {
        setModels(state, models);
        return state;
      }
      throw new CliError(
        `${file} is damaged or from another version of gw. To start over: gw route learn FILE -p ${project} --fresh`,
      );
    },
    write: (state) => writing(file, () => writeLearner(file, state)),
  };
}
