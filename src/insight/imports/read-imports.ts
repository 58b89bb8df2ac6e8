import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import type { LogReading } from '../../agents/logs/read-logs.ts';
import type { Reader } from '../../operations/registry.ts';
import type { ImportedCall } from '../../store/archive/import-usage.ts';
import { type CoverageOptions, findBypass } from '../coverage/find-bypass.ts';
import type { ListPrice } from '../list-price.ts';

/** Importable calls in an agent's logs. */
export interface ReadImport {
  reading: LogReading;
  /** Calls that bypassed gw. */
  calls: ImportedCall[];
  /** Number of calls that went through gw. */
  inLedger: number;
}

export interface ImportOptions extends CoverageOptions {
  priceOf: ListPrice;
  /** The git repository of a folder; '' if none. */
  repositoryOf: (folder: string) => string;
  /** Whether a call went through gw but its record is deleted. */
  isForgotten: (call: LoggedCall) => boolean;
}

/** Reads an agent's logs and prices the calls that bypassed gw. Undefined if gw can't read the agent's logs. */
export async function readImport(
  agent: Pick<Agent, 'name' | 'log'>,
  reader: Pick<Reader, 'calls'>,
  { priceOf, repositoryOf, isForgotten, ...options }: ImportOptions,
): Promise<ReadImport | undefined> {
  const found = await findBypass(agent, reader, options);
  if (!found) return undefined;
  const { reading, bypassed } = found;
  const repos = new Map<string, string>();
  const repoOf = (folder: string) => {
    const repo = repos.get(folder) ?? repositoryOf(folder);
    repos.set(folder, repo);
    return repo;
  };
  const calls = reading.calls
    .filter((call) => bypassed.has(call) && !isForgotten(call))
    .map((call): ImportedCall => {
      const { provider, nanoUsd } = priceOf(call);
      return {
        key: call.key,
        agent: agent.name,
        agentVersion: call.agentVersion,
        session: call.sessionId,
        repo: repoOf(call.cwd),
        provider,
        model: call.model,
        at: call.at,
        usage: call.usage,
        costNanoUsd: nanoUsd,
      };
    });
  return { reading, calls, inLedger: reading.calls.length - calls.length };
}
