import { notFound } from '../../errors.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration } from '../database/write.ts';
import { createProjectLookup } from './callers.ts';
import { DEFAULT_PROJECT } from './project.ts';

/** A project's id by name, for commands that are to start quickly: unlike projects.ts it loads no drizzle. 404. */
export function findProject(db: Db, name: string): number {
  const found = createProjectLookup(db)(name);
  if (!found)
    throw notFound(
      `no project "${name}". See: gw projects list. To make it: gw projects add ${name}`,
      'project_not_found',
      'project_id',
    );
  return found.id;
}

/** Makes the default project where there is none; of processes that come at once, one makes it. */
export function ensureDefaultProject(db: Db, now: number): void {
  if (createProjectLookup(db)(DEFAULT_PROJECT)) return;
  changeConfiguration(db, () =>
    db
      .prepare('INSERT INTO projects (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING')
      .run(DEFAULT_PROJECT, now),
  );
}

/** The ids of all projects but removed ones. */
export function projectIds(db: Db): number[] {
  return db
    .prepare<[], { id: number }>('SELECT id FROM projects WHERE removed_at IS NULL ORDER BY name')
    .all()
    .map(({ id }) => id);
}
