import { notFound } from '../errors.ts';
import type { Db } from './open.ts';

export const DEFAULT_PROJECT = 'default';

/** A project's id by name, undefined if there is none; unlike projects.ts it does not load drizzle. */
export function projectIdOf(db: Db, name: string): number | undefined {
  return db
    .prepare<[string], { id: number }>(
      'SELECT id FROM projects WHERE name = ? COLLATE BINARY AND removed_at IS NULL',
    )
    .get(name)?.id;
}

/** As `projectIdOf`. 404 with what to run. */
export function findProject(db: Db, name: string): number {
  const id = projectIdOf(db, name);
  if (id === undefined) {
    throw notFound(`no project "${name}". See: gw projects list`, 'project_not_found', 'project_id');
  }
  return id;
}

/** The ids of all projects but removed ones. */
export function projectIds(db: Db): number[] {
  return db
    .prepare<[], { id: number }>('SELECT id FROM projects WHERE removed_at IS NULL ORDER BY name')
    .all()
    .map(({ id }) => id);
}
