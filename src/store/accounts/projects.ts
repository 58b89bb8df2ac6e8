import { badRequest, GwError, notFound } from '../../errors.ts';
import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { SHARES } from '../database/sql-parts.ts';
import { changeConfiguration } from '../database/write.ts';
import { claimObjects } from './objects.ts';

export type Plan = Row<'projects'>['plan'];

export const PLANS: readonly Plan[] = ['free', 'pro', 'team'];

export type Project = Omit<Row<'projects'>, 'removedAt' | 'cutAt'>;

export const DEFAULT_PROJECT = 'default';

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const COLUMNS = 'id, name, plan, created_at AS createdAt, paused_at AS pausedAt';

export const isProjectName = (name: string): boolean => NAME.test(name);

/** Makes a project, or restores a removed one of that name. 400 for a bad name, 409 for one that is taken. */
export async function createProject(
  db: Db,
  { name, plan = 'pro', now }: { name: string; plan?: Plan; now: number },
): Promise<Project> {
  if (!isProjectName(name)) {
    throw badRequest(
      `"${name}" is no project name: use 1 to 63 lower-case letters, digits, dots, dashes or underscores`,
      'name',
    );
  }
  return changeConfiguration(db, () => {
    claimObjects(db);
    const project = db
      .prepare<[string, Plan, number], Project>(`
        INSERT INTO projects (name, plan, created_at) VALUES (?, ?, ?)
        ON CONFLICT (name) DO UPDATE SET plan = excluded.plan, paused_at = NULL, removed_at = NULL
        WHERE removed_at IS NOT NULL RETURNING ${COLUMNS}`)
      .get(name, plan, now);
    if (project) return project;
    throw new GwError(`project ${name} exists already. See: gw projects list`, {
      status: 409,
      type: 'invalid_request_error',
      code: 'project_exists',
      param: 'name',
    });
  });
}

/** Makes the default project if there is none. Safe for processes that start at the same time. */
export function ensureDefaultProject(db: Db, now: number): void {
  if (selectProject(db, DEFAULT_PROJECT)) return;
  changeConfiguration(db, () =>
    db
      .prepare('INSERT INTO projects (name, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING')
      .run(DEFAULT_PROJECT, now),
  );
}

/** All projects except removed ones, by name. */
export async function listProjects(db: Db): Promise<Project[]> {
  return db
    .prepare<[], Project>(`SELECT ${COLUMNS} FROM projects WHERE removed_at IS NULL ORDER BY name`)
    .all();
}

/** The ids of all projects except removed ones, by name. */
export function projectIds(db: Db): number[] {
  return db
    .prepare<[], number>('SELECT id FROM projects WHERE removed_at IS NULL ORDER BY name')
    .pluck()
    .all();
}

/** A project by its exact name. 404 for an unknown one. */
export async function getProject(db: Db, name: string): Promise<Project> {
  const project = selectProject(db, name);
  if (project?.name !== name) throw unknownProject(name);
  return project;
}

/** A project's id by its name in any letter case. 404 for an unknown one. */
export function findProject(db: Db, name: string): number {
  const project = selectProject(db, name);
  if (!project) throw unknownProject(name);
  return project.id;
}

/** Sets a project's plan. 404 for an unknown one. */
export async function setPlan(db: Db, name: string, plan: Plan): Promise<void> {
  const { id } = await getProject(db, name);
  changeConfiguration(db, () => db.prepare('UPDATE projects SET plan = ? WHERE id = ?').run(plan, id));
}

const SET_PAUSED = `UPDATE projects SET paused_at = @pausedAt,
  cut_at = iif(@cutAt IS NULL, cut_at, max(@cutAt, coalesce(cut_at, 0) + 1))`;

/**
 * Pauses a project, so that its requests are refused, or resumes it (null). With `cutAt`, daemons also end the requests
 * that are running. 404 for an unknown one.
 */
export async function setPaused(
  db: Db,
  name: string,
  pausedAt: number | null,
  cutAt: number | null = null,
): Promise<void> {
  const { id } = await getProject(db, name);
  changeConfiguration(db, () => db.prepare(`${SET_PAUSED} WHERE id = @id`).run({ pausedAt, cutAt, id }));
}

/** As `setPaused`, for all projects at once. Returns their names. */
export async function setAllPaused(
  db: Db,
  pausedAt: number | null,
  cutAt: number | null = null,
): Promise<string[]> {
  const names = changeConfiguration(db, () =>
    db
      .prepare<[object], string>(`${SET_PAUSED} WHERE removed_at IS NULL RETURNING name`)
      .pluck()
      .all({ pausedAt, cutAt }),
  );
  return names.sort();
}

/** Whether a project is paused, and when its running requests were cut last. */
export interface ProjectCut {
  cutAt: number;
  isPaused: boolean;
}

/** The projects whose running requests were ever cut, by id. */
export function readProjectCuts(db: Db): ReadonlyMap<number, ProjectCut> {
  const rows = db
    .prepare<[], { id: number; cutAt: number; pausedAt: number | null }>(
      'SELECT id, cut_at AS cutAt, paused_at AS pausedAt FROM projects WHERE cut_at IS NOT NULL',
    )
    .all();
  return new Map(rows.map(({ id, cutAt, pausedAt }) => [id, { cutAt, isPaused: pausedAt !== null }]));
}

/**
 * Removes a project, revokes its keys and removes its budgets, so that a new project of the same name starts without
 * them. Its history stays. The default project can't be removed.
 */
export async function removeProject(db: Db, name: string, now: number): Promise<void> {
  if (name === DEFAULT_PROJECT)
    throw badRequest(`the ${DEFAULT_PROJECT} project cannot be removed`, 'project_id');
  const { id } = await getProject(db, name);
  changeConfiguration(db, () => {
    db.prepare('UPDATE projects SET removed_at = ? WHERE id = ?').run(now, id);
    db.prepare('UPDATE keys SET revoked_at = ? WHERE project_id = ? AND revoked_at IS NULL').run(now, id);
    // What several share goes on without it.
    db.prepare(`UPDATE budgets AS b SET project_id = coalesce((SELECT min(p.id) FROM projects p
      WHERE p.removed_at IS NULL AND ${SHARES}), project_id) WHERE projects <> '' AND project_id = ?`).run(
      id,
    );
    db.prepare('UPDATE budgets SET removed_at = ? WHERE project_id = ? AND removed_at IS NULL').run(now, id);
  });
}

/** The column `name` ignores letter case. */
function selectProject(db: Db, name: string): Project | undefined {
  return db
    .prepare<[string], Project>(`SELECT ${COLUMNS} FROM projects WHERE name = ? AND removed_at IS NULL`)
    .get(name);
}

/** The error for a project that does not exist. */
export function unknownProject(name: string): GwError {
  return notFound(
    `no project "${name}". See: gw projects list. To make it: gw projects add ${name}`,
    'project_not_found',
    'project_id',
  );
}
