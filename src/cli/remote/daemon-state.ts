import type { Context } from '../context.ts';
import { type DaemonState, findDaemon } from '../daemon/find.ts';
import { remoteOf } from './connection.ts';

/** What a gw's `/health` returns to callers with a key. */
interface Health {
  version: string;
  instance_id: string;
  pid: number;
  port: number;
  started_at: string;
}

/** The state of the gw that commands talk to. Throws GwError `server_unreachable` if a remote one does not answer. */
export async function daemonState(context: Context): Promise<DaemonState> {
  const remote = remoteOf(context);
  if (!remote) return findDaemon(context);
  const { url } = remote.gateway;
  // The client has checked that a gw answers.
  const { version, instance_id, pid, port, started_at } = (await remote.ask({ path: '/health' })) as Health;
  const daemon = { version, instance_id, pid, port, started_at, origin: url, local: url };
  return { kind: 'running', daemon };
}
