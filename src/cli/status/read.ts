import type { StatusView } from '../../reading/schemas.ts';
import type { Context } from '../context.ts';
import { type ConnectedAgent, checkConnectedAgents } from '../coverage/connected-agent.ts';
import type { DaemonState } from '../daemon/find.ts';
import { daemonState } from '../remote/daemon-state.ts';
import { withReader } from '../with-gateway.ts';

/** State of the daemon, today's usage, budgets, providers and connected agents. */
export interface Status extends StatusView {
  agents: ConnectedAgent[];
  /** Names of the projects whose requests are refused until they are resumed. */
  paused_projects: string[];
  state: DaemonState;
  now: number;
}

export async function readStatus(context: Context): Promise<Status> {
  const now = context.clock.now();
  const state = await daemonState(context);
  return withReader(context, async (reader) => ({
    ...(await reader.status()),
    agents: await checkConnectedAgents(context, reader),
    paused_projects: (await reader.projects())
      .filter(({ paused_at }) => paused_at !== null)
      .map(({ project_id }) => project_id),
    state,
    now,
  }));
}
