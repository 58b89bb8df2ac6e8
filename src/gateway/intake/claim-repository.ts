import { budgetForbidden } from '../../errors.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { repositoryIn } from './select-project.ts';

/**
 * Counts a request in the repository whose budget it names: gw can't see the repository of a caller in a container.
 * Throws GwError 403 for a caller from another repository, which would evade the cap of its own. Undefined when the
 * request names no repository.
 */
export function claimRepository(
  gateway: Pick<Gateway, 'attribution'>,
  context: AnyRequestContext,
): Promise<void> | undefined {
  const repo = repositoryIn(context.options.budgetId);
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
