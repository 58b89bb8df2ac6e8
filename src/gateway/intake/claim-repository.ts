import { budgetForbidden } from '../../errors.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { repositoryIn } from './select-project.ts';

/**
 * A request that names the budget of a repository counts there, as callers in containers can say no other way where
 * they come from. 403 for one that is known to come from another: it would pass the cap of its own. Nothing to wait
 * for, and undefined, where none is named.
 */
export function claimRepository(gateway: Gateway, context: AnyRequestContext): Promise<void> | undefined {
  const repo = repositoryIn(context.options.budgetId);
  return repo === '' ? undefined : countIn(repo, gateway, context);
}

async function countIn(repo: string, gateway: Gateway, context: AnyRequestContext): Promise<void> {
  const { origin, options, project } = context;
  if (origin.search) await gateway.attribution.searched(origin, MAX_SEARCH_MS);
  if (origin.repo !== '' && origin.repo !== repo) {
    throw budgetForbidden(
      `"${options.budgetId}" counts what comes from ${repo}, and this request comes from ${origin.repo}. Leave service.budget_id out, or name its project: ${project.name}`,
      'service.budget_id',
    );
  }
  context.origin = { process: origin.process, repo };
}

/** How long a request waits for its caller to be found. A repository that is found later goes on the record alone. */
export const MAX_SEARCH_MS = 2_000;
