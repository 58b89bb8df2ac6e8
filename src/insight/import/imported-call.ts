import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { repositoryOf } from '../../attribution/repository.ts';
import { remembered } from '../../json/grouped.ts';
import type { ImportedCall } from '../../store/archive/import-usage.ts';
import type { ListPrice } from '../list-price.ts';

/** Returns a function that prices an agent's logged call and finds its repository. */
export function createImported(agent: Agent['name'], priceOf: ListPrice): (call: LoggedCall) => ImportedCall {
  const repos = new Map<string, string>();
  const repoOf = (folder: string) => remembered(repos, folder, () => repositoryOf(folder));
  return (call) => {
    const { key, agentVersion, model, at, usage } = call;
    const { provider, nanoUsd } = priceOf(call);
    return {
      ...{ key, agent, agentVersion, session: call.sessionId, repo: repoOf(call.cwd) },
      ...{ provider, model, at, usage, costNanoUsd: nanoUsd },
    };
  };
}
