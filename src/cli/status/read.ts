import type { StatusView } from '../../reading/schemas.ts';
import type { Context } from '../context.ts';
import type { DaemonState } from '../daemon/find.ts';
import { daemonState } from '../remote/daemon-state.ts';
import { withReader } from '../with-gateway.ts';

/** State of the daemon, today's usage, budgets and providers. */
export interface Status extends StatusView {
  state: DaemonState;
  now: number;
}

export async function readStatus(context: Context): Promise<Status> {
  const now = context.clock.now();
  const state = await daemonState(context);
  return { ...(await withReader(context, (reader) => reader.status())), state, now };
}
