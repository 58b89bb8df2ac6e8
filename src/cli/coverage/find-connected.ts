import type { Agent } from '../../agents/agent.ts';
import { type Connection, readConnections } from '../../agents/settings/connections.ts';
import { AGENTS } from '../../agents/table.ts';
import { findBypass } from '../../insight/coverage/find-bypass.ts';
import type { Reader } from '../../operations/registry.ts';
import { connectionState } from '../connect/list-agents.ts';
import { type Context, homeOf } from '../context.ts';

/** An agent whose settings point at the gw of this machine. */
export interface ConnectedAgent {
  agent: Agent;
  /** `changed`: others have edited what gw wrote. */
  state: 'connected' | 'changed';
  connectedAt: number;
  /** From when on its log was compared with the ledger, UTC milliseconds. */
  since: number;
  /** Calls in its log that the ledger lacks; null for an agent whose log gw can't read. */
  bypassed: number | null;
  /** False if there was no time for all of its log: the newest files come first. */
  complete: boolean;
}

export interface Limits {
  /** How far back its log is read. */
  pastMs: number;
  /** How long all may take. */
  limitMs: number;
}

/** The connected agents, each with the number of calls that bypassed gw since. */
export async function findConnected(
  context: Context,
  reader: Pick<Reader, 'calls'>,
  { pastMs, limitMs }: Limits,
): Promise<ConnectedAgent[]> {
  const { clock, env, paths } = context;
  const connections = Object.entries(readConnections(paths.connections));
  const deadline = clock.monotonic() + limitMs;
  const now = clock.now();
  const agents: ConnectedAgent[] = [];
  for (const [name, connection] of connections) {
    const agent = AGENTS.find((each) => each.name === name);
    if (!agent || connection.key_id === null) continue;
    const connectedAt = Date.parse(connection.connected_at);
    const since = Math.max(connectedAt, now - pastMs);
    const isOver = () => clock.monotonic() > deadline;
    const coverage = await findBypass(agent, reader, { env, home: homeOf(context), since, now, isOver });
    agents.push({
      agent,
      state: stateOf(agent, connection),
      connectedAt,
      since,
      bypassed: coverage?.bypassed.size ?? null,
      complete: coverage?.reading.complete ?? true,
    });
  }
  return agents;
}

function stateOf(agent: Agent, connection: Connection): ConnectedAgent['state'] {
  return connectionState(agent, connection) === 'connected' ? 'connected' : 'changed';
}
