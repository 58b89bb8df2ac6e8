import type { StatusView } from '../../reading/schemas.ts';
import type { Context } from '../context.ts';
import { type ConnectedAgent, checkConnectedAgents } from '../coverage/connected-agent.ts';
import type { DaemonState } from '../daemon/find.ts';
import { daemonState } from '../remote/daemon-state.ts';
import { withReader } from '../with-gateway.ts';

/** State of the daemon, today's usage, budgets, providers and connected agents. */
export interface Status extends StatusView {
  agents: ConnectedAgent[];
  state: DaemonState;
  now: number;
}

export async function readStatus(context: Context): Promise<Status> {
  const now = context.clock.now();
  const state = await daemonState(context);
  return withReader(context, async (reader) => ({
    ...(await reader.status()),
    agents: await checkConnectedAgents(context, reader),
    state,
    now,
  }));
}
