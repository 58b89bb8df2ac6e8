import { GwError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { mustBeOwn, type ProjectAccess } from '../own-project.ts';
import type { Caller } from '../store/accounts/callers.ts';

/** Throws GwError 403 for a project key. `what` is such as "changing budgets", `command` what works on the machine. */
export function mustBeAdmin(caller: Caller, what: string, command: string): void {
  if (caller.admin) return;
  throw new GwError(`${what} needs an admin key. Without one: ${command}`, {
    status: 403,
    type: 'permission_error',
    code: 'admin_required',
  });
}

/** The fields and parameters of gw's endpoints that name a project or a budget. */
const NAMES = ['project_id', 'budget_id', 'project'];

/**
 * Throws GwError 403 if a request's query, body or path names a project or budget that the key may not use, existing or
 * not. Checked before anything else of the request, which would tell the two apart.
 */
export function mustNameOwn(caller: ProjectAccess, fields: unknown): void {
  if (caller.admin || !isObject(fields)) return;
  for (const name of NAMES) {
    const value = fields[name];
    if (typeof value === 'string') mustBeOwn(caller, value, name === 'project' ? 'project_id' : name);
  }
}
