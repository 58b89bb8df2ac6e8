import { rmSync } from 'node:fs';
import { join } from 'node:path';
import * as store from '../../store/accounts/projects.ts';
import { isoTime } from '../../store/ledger/standing.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/projects.ts';
import type { Sources } from '../sources.ts';

interface Named {
  project: string;
}

export async function projects({ db, scope }: Sources): Promise<described.ProjectView[]> {
  const all = await store.listProjects(db);
  return all
    .filter(({ id }) => scope.admin || id === scope.projectId)
    .map(({ name, plan, createdAt, pausedAt }) => ({
      project_id: name,
      plan,
      created_at: new Date(createdAt).toISOString(),
      paused_at: isoTime(pausedAt),
    }));
}

export async function addProject(
  { db, change, now }: Sources,
  { project_id, plan = 'pro' }: Input<typeof described.addProject>,
) {
  await change(() => store.createProject(db, { name: project_id, plan, now: now() }));
  return { object: 'project', project_id, plan };
}

export async function pauseAll(
  { db, change, now }: Sources,
  { paused, cut = false }: Input<typeof described.pauseAll>,
) {
  const projects = await change(() => store.setAllPaused(db, ...pauseTimes(now(), paused, cut)));
  return { object: 'projects', projects, paused };
}

export async function changeProject(
  { db, change, now }: Sources,
  { project, plan, paused, cut = false }: Named & Input<typeof described.changeProject>,
) {
  await change(async () => {
    if (plan !== undefined) await store.setPlan(db, project, plan);
    if (paused !== undefined) await store.setPaused(db, project, ...pauseTimes(now(), paused, cut));
  });
  return { object: 'project', project_id: project, plan, paused };
}

export async function removeProject({ db, change, now, home }: Sources, { project }: Named) {
  await change(async () => {
    await store.removeProject(db, project, now());
    removeTraining(home, project);
  });
  return { object: 'project.deleted', id: project, deleted: true };
}

/** Deletes what gw 0.2.0 and before learnt from a project's prompts. Nothing reads it, but it is the project's data. */
export function removeTraining(home: string, project: string): void {
  rmSync(join(home, `route-${project}.bin`), { force: true });
}

function pauseTimes(now: number, paused: boolean, cut: boolean) {
  return [paused ? now : null, paused && cut ? now : null] as const;
}
