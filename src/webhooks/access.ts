import { GwError } from '../errors.ts';
import { mustBeOwn, type ProjectAccess } from '../own-project.ts';
import type { Project } from '../store/accounts/project.ts';
import { getProject } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';

/** The caller of an operation. Without an admin key, it sees its own project's webhooks only. */
export interface WebhookCaller extends ProjectAccess {
  projectId: number;
}

/** Whether the caller may see a project's webhooks. */
export const maySee = (caller: WebhookCaller, projectId: number) =>
  caller.admin || caller.projectId === projectId;

/** The project id to filter by: that of `name`, or without one the caller's own; undefined (all) for an admin. */
export async function projectScope(
  db: Db,
  caller: WebhookCaller,
  name: string | undefined,
): Promise<number | undefined> {
  if (name === undefined) return caller.admin ? undefined : caller.projectId;
  return (await targetProject(db, caller, name)).id;
}

/** The project `name`, by default the caller's. 403 for another project without an admin key, 404 if unknown. */
export async function targetProject(db: Db, caller: WebhookCaller, name = caller.project): Promise<Project> {
  mustBeOwn(caller, name, 'project_id');
  return getProject(db, name);
}

/** Throws 403 `plan_required` for a plan below pro. */
export function requirePlan({ name, plan }: { name: string; plan: string }): void {
  if (plan !== 'free') return;
  throw new GwError(
    `webhooks need the pro plan, and project ${name} is on ${plan}. Run: gw plan set pro -p ${name}`,
    { status: 403, type: 'permission_error', code: 'plan_required' },
  );
}
