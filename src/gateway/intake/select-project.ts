import { budgetForbidden, GwError, notFound } from '../../errors.ts';
import { mustBeOwn } from '../../own-project.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { Gateway } from '../context/gateway.ts';
import {
  type Accounts,
  type AnyRequestContext,
  PROJECT_PAUSED,
  type ProjectRef,
  pausedMessage,
} from '../context/request-context.ts';

/** A budget's name: `project/period`, or `project/period@/path/to/repository`. */
const BUDGET = /^([^/]+)\/(daily|weekly|monthly|rolling|lifetime)(?:@(.+))?$/s;

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

/**
 * Counts a request in the repository whose budget it names: gw can't see the repository of a caller in a container.
 * Throws GwError 403 for a caller from another repository, which would evade the cap of its own. Undefined when the
 * request names no repository.
 */
export function claimRepository(
  gateway: Pick<Gateway, 'attribution'>,
  context: AnyRequestContext,
): Promise<void> | undefined {
  const repo = BUDGET.exec(context.options.budgetId ?? '')?.[3] ?? '';
  return repo === '' ? undefined : claim(repo, gateway, context);
}

async function claim(
  repo: string,
  gateway: Pick<Gateway, 'attribution'>,
  context: AnyRequestContext,
): Promise<void> {
  const { origin, options, project } = context;
  if (origin.search) await gateway.attribution.searched(origin, MAX_SEARCH_MS);
  if (origin.repo !== '' && origin.repo !== repo) {
    throw budgetForbidden(
      `"${options.budgetId}" is a budget for requests from ${repo}, but this request comes from ${origin.repo}. Remove service.budget_id, or set it to the project: ${project.name}`,
      'service.budget_id',
    );
  }
  context.origin = { process: origin.process, repo };
}

/** How long a request waits for its caller to be found. A repository that is found later goes on the record alone. */
export const MAX_SEARCH_MS = 2_000;
