import { budgetForbidden, GwError, notFound } from '../../errors.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { Accounts, ProjectRef } from '../context/accounts.ts';

/** A budget's name: `project/period`, or of a repository `project/period@/its/path`. */
const BUDGET = /^([^/]+)\/(daily|monthly|rolling)(?:@(.+))?$/s;

/** The repository whose budget a name is; empty for any other name. */
export function repositoryIn(budgetId: string | undefined): string {
  return BUDGET.exec(budgetId ?? '')?.[3] ?? '';
}

/**
 * The project that pays: the key's own, or the one that `service.budget_id` names (by its own name, or by that of
 * one of its budgets). 403 for a project that the key may not use, 404 for a project or budget that there isn't.
 */
export function selectProject(caller: Caller, budgetId: string | undefined, accounts: Accounts): ProjectRef {
  const project = budgetId === undefined ? ownProject(caller) : named(caller, budgetId, accounts);
  if (project.paused) {
    throw new GwError(`project ${project.name} is paused. To resume it: gw projects resume ${project.name}`, {
      status: 403,
      type: 'permission_error',
      code: 'project_paused',
    });
  }
  return project;
}

/** The key's. */
export function ownProject({ projectId, project, paused }: Caller): ProjectRef {
  return { id: projectId, name: project, paused };
}

function named(caller: Caller, budgetId: string, { findProject, hasBudget }: Accounts): ProjectRef {
  const [, name = budgetId, period, repo = ''] = BUDGET.exec(budgetId) ?? [];
  const project = findProject(name);
  if (!project) throw unknown(budgetId);
  if (project.id !== caller.projectId && !caller.admin) {
    throw budgetForbidden(
      `this key belongs to project ${caller.project} and may not spend from "${budgetId}". Use a key of that project (gw keys create -p ${project.name}), or an admin key`,
      'service.budget_id',
    );
  }
  // Who names a budget counts on its cap: on that of a repository too (countWhereNamed).
  if (period !== undefined && !hasBudget(project.id, period, repo)) throw unknown(budgetId);
  return project;
}

function unknown(budgetId: string): GwError {
  return notFound(
    `no budget or project "${budgetId}". See: gw budget list, gw projects list`,
    'budget_not_found',
    'service.budget_id',
  );
}
