import { GwError } from '../errors.ts';
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
