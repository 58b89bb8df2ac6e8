import { and, asc, eq, isNull } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { badRequest, GwError, notFound } from '../../errors.ts';
import type { Db } from '../database/open.ts';
import { budgets, keys, projects } from '../database/schema.ts';
import { changeConfiguration } from '../database/write.ts';
import type { Plan, Project } from './project.ts';
import { DEFAULT_PROJECT } from './project.ts';

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const columns = {
  id: projects.id,
  name: projects.name,
  plan: projects.plan,
  createdAt: projects.createdAt,
  pausedAt: projects.pausedAt,
};

/** Makes a project. 400 for a bad name, 409 for one that exists. A removed project of the name comes back to life. */
export async function createProject(
  db: Db,
  { name, plan = 'pro', now }: { name: string; plan?: Plan; now: number },
): Promise<Project> {
  if (!NAME.test(name)) {
    throw badRequest(
      `"${name}" is no project name: use 1 to 63 lower-case letters, digits, dots, dashes or underscores`,
      'name',
    );
  }
  return changeConfiguration(db, () => {
    const orm = drizzle(db);
    const existing = orm.select().from(projects).where(eq(projects.name, name)).get();
    if (existing && existing.removedAt === null) {
      throw new GwError(`project ${name} exists already. See: gw projects list`, {
        status: 409,
        type: 'invalid_request_error',
        code: 'project_exists',
        param: 'name',
      });
    }
    if (existing) {
      const revived = { removedAt: null, pausedAt: null, plan };
      return orm.update(projects).set(revived).where(eq(projects.id, existing.id)).returning(columns).get();
    }
    return orm.insert(projects).values({ name, plan, createdAt: now }).returning(columns).get();
  });
}

/** All projects but removed ones, by name. */
export async function listProjects(db: Db): Promise<Project[]> {
  return drizzle(db)
    .select(columns)
    .from(projects)
    .where(isNull(projects.removedAt))
    .orderBy(asc(projects.name))
    .all();
}

/** A project by name. 404 with what to run. */
export async function getProject(db: Db, name: string): Promise<Project> {
  const found = (await listProjects(db)).find((project) => project.name === name);
  if (!found)
    throw notFound(
      `no project "${name}". See: gw projects list. To make it: gw projects add ${name}`,
      'project_not_found',
      'project_id',
    );
  return found;
}

/** Sets a project's plan. */
export async function setPlan(db: Db, name: string, plan: Plan): Promise<void> {
  const project = await getProject(db, name);
  changeConfiguration(db, () =>
    drizzle(db).update(projects).set({ plan }).where(eq(projects.id, project.id)).run(),
  );
}

/** Stops or resumes a project: a paused project's requests are refused. */
export async function setPaused(db: Db, name: string, pausedAt: number | null): Promise<void> {
  const project = await getProject(db, name);
  changeConfiguration(db, () =>
    drizzle(db).update(projects).set({ pausedAt }).where(eq(projects.id, project.id)).run(),
  );
}

/**
 * Removes a project: its keys are revoked and its budgets removed, so that a new project of the name starts without
 * them; its history stays. The default project stays.
 */
export async function removeProject(db: Db, name: string, now: number): Promise<void> {
  if (name === DEFAULT_PROJECT) {
    throw badRequest(`the ${DEFAULT_PROJECT} project cannot be removed`, 'project_id');
  }
  const { id } = await getProject(db, name);
  changeConfiguration(db, () => {
    const orm = drizzle(db);
    orm.update(projects).set({ removedAt: now }).where(eq(projects.id, id)).run();
    orm
      .update(keys)
      .set({ revokedAt: now })
      .where(and(eq(keys.projectId, id), isNull(keys.revokedAt)))
      .run();
    orm
      .update(budgets)
      .set({ removedAt: now })
      .where(and(eq(budgets.projectId, id), isNull(budgets.removedAt)))
      .run();
  });
}
