import { execFile } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Agent } from '../../agents/agent.ts';
import { type Connection, type ProofRecord, readConnections } from '../../agents/settings/connections.ts';
import { isIntact } from '../../agents/settings/edit-file.ts';
import { AGENTS } from '../../agents/table.ts';
import { orElse } from '../../errors.ts';
import { table } from '../../terminal/table.ts';
import { type Context, say, sayJson, screenOf } from '../context.ts';
import { findProgram } from '../invocation.ts';
import { endpointOf } from './agents.ts';
import { shortPath } from './view.ts';

/** A row of `gw connect`. */
interface AgentRow {
  agent: string;
  installed: boolean;
  version: string | null;
  state: 'connected' | 'not_connected' | 'changed' | 'unsupported';
  files: string[];
  key_id: number | null;
  proof: ProofRecord;
}

const VERSION_LIMIT_MS = 5_000;
const STATES: Record<AgentRow['state'], string> = {
  connected: 'connected',
  not_connected: 'not connected',
  changed: 'changed by others',
  unsupported: 'by gw run only',
};

/** Prints which agents are connected. */
export async function listAgents(context: Context, json = false): Promise<void> {
  const rows = await Promise.all(AGENTS.map((agent) => agentRow(context, agent)));
  if (json) return sayJson(context, rows);
  const lines = table(
    rows,
    [
      { header: 'agent', value: ({ agent }) => agent },
      { header: 'version', value: ({ version, installed }) => version ?? (installed ? '?' : '-') },
      { header: 'state', value: ({ state }) => STATES[state] },
      { header: 'proof', value: ({ proof }) => (proof.state === 'not_run' ? '' : proof.state) },
      {
        header: 'files',
        value: ({ files }) => files.map((file) => shortPath(context, file)).join(' '),
        shrinks: true,
      },
    ],
    { terminal: screenOf(context) },
  );
  say(context, lines.join('\n'));
}

/** State of an agent on this machine. */
export async function agentRow(context: Context, agent: Agent): Promise<AgentRow> {
  const connection = readConnections(context.paths.connections)[agent.name];
  const program = findProgram(agent.binaries, context.env);
  return {
    agent: agent.name,
    installed: program !== undefined,
    version: program === undefined ? null : await versionOf(context, agent, program),
    state: connectionState(agent, connection),
    files: filesOf(context, agent, connection),
    key_id: connection?.key_id ?? null,
    proof: connection?.proof ?? { state: 'not_run', request_id: null, went_to: null },
  };
}

/** Whether an agent's settings still point at gw. */
export function connectionState({ connect }: Agent, connection: Connection | undefined): AgentRow['state'] {
  if (connection === undefined) return typeof connect === 'string' ? 'unsupported' : 'not_connected';
  return connection.key_id !== null && connection.files.every(isReadableAndIntact) ? 'connected' : 'changed';
}

/** A file that is no longer of its format counts as changed. */
function isReadableAndIntact(file: Connection['files'][number]): boolean {
  return orElse(() => isIntact(file), false);
}

function filesOf(context: Context, { connect }: Agent, connection: Connection | undefined): string[] {
  if (connection) return connection.files.map(({ path }) => path);
  if (typeof connect === 'string') return [];
  return connect
    .edits(endpointOf(context, { origin: '', key: '', model: undefined, subscription: false }))
    .map(({ path }) => path);
}

/** The version of a program: of its package, else what it prints; null if it prints none. */
async function versionOf({ env }: Context, { packages }: Agent, program: string): Promise<string | null> {
  const version = packageVersion(packages, realpathSync(program));
  if (version !== undefined) return version;
  return new Promise((resolve) => {
    execFile(program, ['--version'], { env, timeout: VERSION_LIMIT_MS }, (_error, stdout) => {
      resolve(/(?<!\d)\d+\.\d+\.\d+[\w.+-]*/.exec(stdout)?.[0] ?? null);
    });
  });
}

/** The version in the package.json of the npm package that a file is in. Agents take seconds to print theirs. */
function packageVersion(packages: readonly string[], file: string): string | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (packages.includes(name) && typeof version === 'string') return version;
    } catch {
      // No package here.
    }
  }
  return undefined;
}
