import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Agent } from '../../agents/agent.ts';
import { identifyLog } from '../../agents/logs/read-logs.ts';
import { AGENTS } from '../../agents/table.ts';
import { findAgent } from '../connect/agents.ts';
import { CliError, EXIT, usageError } from '../exit.ts';

/** Logs of one agent: those in its folders, or these files. */
export interface LogSource {
  agent: Agent;
  files?: string[];
}

/** The agents whose logs gw can read. */
export const READABLE: readonly Agent[] = AGENTS.filter(({ log }) => log !== undefined);

/** The name of an agent's logs in commands and reports. */
export function sourceName({ name }: Agent): string {
  return name === 'claude' ? 'claude-code' : name;
}

const NAMES = READABLE.map(sourceName).join(', ');

/** What the words name: agents and files, the files by their agent. Throws for a word that names neither. */
export async function sourcesOf(words: readonly string[]): Promise<LogSource[]> {
  if (words.length === 0) return READABLE.map((agent) => ({ agent }));
  const sources = new Map<string, LogSource>();
  for (const word of words) {
    const named = findAgent(word);
    const agent = named ?? (await agentOfFile(word));
    if (!agent.log) throw usageError(`gw can't read the logs of ${agent.title}. It reads those of ${NAMES}`);
    const files = named
      ? {}
      : { files: [...(sources.get(`files of ${agent.name}`)?.files ?? []), resolve(word)] };
    sources.set(named ? agent.name : `files of ${agent.name}`, { agent, ...files });
  }
  return [...sources.values()];
}

async function agentOfFile(path: string): Promise<Agent> {
  if (!existsSync(path))
    throw new CliError(
      `there is no agent and no file "${path}". Use ${NAMES}, or the path of a log`,
      EXIT.notFound,
    );
  if (statSync(path).isDirectory())
    throw usageError(`${path} is a folder: name the files in it, or an agent: ${NAMES}`);
  const agent = await identifyLog(path, READABLE).catch((error: unknown) => {
    throw new CliError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (agent) return agent;
  throw new CliError(`${path} is no session log of ${READABLE.map(({ title }) => title).join(', ')}`);
}
