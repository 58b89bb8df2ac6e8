import { budgetForbidden, GwError } from '../errors.ts';
import type { Project } from '../store/accounts/project.ts';
import { getProject } from '../store/accounts/projects.ts';
import type { Db } from '../store/database/open.ts';

/** Who asks. A caller that is no admin sees its own project's webhooks, and the others not at all. */
export interface WebhookCaller {
  /** The caller's project by name, which a registration without a project is for. */
  project: string;
  projectId: number;
  admin: boolean;
}

/** Whether the caller may know of a project's webhooks at all. */
export const maySee = (caller: WebhookCaller, projectId: number) =>
  caller.admin || caller.projectId === projectId;

/** The project that is asked about; undefined is all, which only an admin may ask. */
export async function projectScope(
  db: Db,
  caller: WebhookCaller,
  name: string | undefined,
): Promise<number | undefined> {
  if (name === undefined) return caller.admin ? undefined : caller.projectId;
  return (await targetProject(db, caller, name)).id;
}

/** The project named, or the caller's. 403 for another than its own to a caller that is no admin, 404 if unknown. */
export async function targetProject(db: Db, caller: WebhookCaller, name = caller.project): Promise<Project> {
  if (!caller.admin && name !== caller.project) {
    throw budgetForbidden(
      `this key belongs to project ${caller.project} and may not use "${name}". Use a key of that project, or an admin key`,
      'project_id',
    );
  }
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
