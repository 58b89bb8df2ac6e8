import { isObject } from '../json/object.ts';
import { mustBeOwn, type ProjectAccess } from '../own-project.ts';

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
