import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialiseLearner, serialiseLearner } from '../../routing/score/codec.ts';
import type { LearnerState } from '../../routing/score/learner-state.ts';
import { DEFAULT_PROJECT, findProject } from '../../store/find-project.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';
import { withStore } from '../with-store.ts';

/** What a project has learnt about its prompts, in the state directory. */
export interface LearnerFile {
  /** What was learnt; undefined where nothing was. */
  read(): LearnerState | undefined;
  write(state: LearnerState): void;
}

export function learnerPath({ paths }: Pick<Context, 'paths'>, project: string): string {
  return join(paths.home, `route-${project}.bin`);
}

/** 404 for an unknown project. */
export async function learnerFileOf(context: Context, project: string): Promise<LearnerFile> {
  // The default project is there before the database is.
  if (project !== DEFAULT_PROJECT) await withStore(context, async (db) => findProject(db, project));
  const { home } = context.paths;
  const file = learnerPath(context, project);
  return {
    read() {
      if (!existsSync(file)) return undefined;
      const state = deserialiseLearner(readFileSync(file));
      if (state) return state;
      throw new CliError(
        `${file} is damaged or of another version of gw. To begin anew: gw route learn FILE -p ${project} --fresh`,
      );
    },
    write(state) {
      mkdirSync(home, { recursive: true, mode: 0o700 });
      // Renamed into place, so that whoever reads it meanwhile has the one or the other whole.
      const draft = `${file}.${process.pid}`;
      writeFileSync(draft, serialiseLearner(state), { mode: 0o600 });
      renameSync(draft, file);
    },
  };
}
