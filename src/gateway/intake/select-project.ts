import { GwError, notFound } from '../../errors.ts';
import { mustBeOwn } from '../../own-project.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import { type Accounts, PROJECT_PAUSED, type ProjectRef, pausedMessage } from '../context/accounts.ts';

/** A budget's name: `project/period`, or `project/period@/path/to/repository`. */
const BUDGET = /^([^/]+)\/(daily|weekly|monthly|rolling|lifetime)(?:@(.+))?$/s;

/** The repository in a budget's name; empty if there is none. */
export function repositoryIn(budgetId: string | undefined): string {
  return BUDGET.exec(budgetId ?? '')?.[3] ?? '';
}

/**
 * The project that pays: the one that `service.budget_id` names, by its own name or by a budget's, else the key's own.
 * Throws GwError 403 for a project that the key may not use, existing or not, and 404 for its own budget that doesn't
 * exist.
 */
export function selectProject(caller: Caller, budgetId: string | undefined, accounts: Accounts): ProjectRef {
  const project = budgetId === undefined ? ownProject(caller) : namedProject(caller, budgetId, accounts);
  if (project.paused) throw new GwError(pausedMessage(project), PROJECT_PAUSED);
  return project;
}

/** The project that the key belongs to. */
export function ownProject({ projectId, project, paused }: Caller): ProjectRef {
  return { id: projectId, name: project, paused };
}

function namedProject(caller: Caller, budgetId: string, { findProject, hasBudget }: Accounts): ProjectRef {
  const [, name = budgetId, period, repo = ''] = BUDGET.exec(budgetId) ?? [];
  mustBeOwn(caller, name, 'service.budget_id');
  const project = findProject(name);
  if (!project) throw budgetNotFound(budgetId);
  // A client that names a budget relies on its cap, so the budget has to exist.
  if (period !== undefined && !hasBudget(project.id, period, repo)) throw budgetNotFound(budgetId);
  return project;
}

function budgetNotFound(budgetId: string): GwError {
  return notFound(
    `no budget or project "${budgetId}". See: gw budget list, gw projects list`,
    'budget_not_found',
    'service.budget_id',
  );
}
