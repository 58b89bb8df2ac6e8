import type { WhoamiView } from '../../operations/schemas/dashboard.ts';
import type { AskRemote } from '../../remote/client.ts';
import { type RemoteGateway, remoteGateway } from '../../remote/target.ts';
import type { Context } from '../context.ts';
import { type Daemon, type DaemonState, findDaemon } from '../daemon/find.ts';
import { type CliError, usageError } from '../exit.ts';
import { networkOf } from '../settings.ts';

/** The gw that commands talk to instead of this machine's. */
interface Remote {
  gateway: RemoteGateway;
  ask: AskRemote;
}

/** The remote gw of a command; undefined if it talks to this machine's. Throws for a malformed URL or a missing key. */
export function remoteOf(context: Context): Remote | undefined {
  const gateway = remoteGateway(context);
  if (!gateway) return undefined;
  let connected: Promise<AskRemote> | undefined;
  // Local commands load no client.
  const connect = async () =>
    (await import('../../remote/client.ts')).connectRemote(gateway, { network: () => networkOf(context) });
  return {
    gateway,
    async ask(request) {
      connected ??= connect();
      return (await connected)(request);
    },
  };
}

/** The error of a command that works on this machine only. `what` is its name, such as `gw start`. */
export function localOnly(what: string, { url, from }: RemoteGateway): CliError {
  const [cause, remedy] =
    from === 'environment'
      ? ['GW_URL is', 'unset GW_URL']
      : ['gw login chose', 'GW_URL= gw ..., or gw logout'];
  return usageError(
    `${what} is for the gw of this machine, but ${cause} ${url}. Run it on that machine; for this one: ${remedy}`,
  );
}

export async function whoami(ask: AskRemote): Promise<WhoamiView> {
  return (await ask({ path: '/v1/gw/whoami' })) as WhoamiView;
}

/** Where a client program is pointed. */
export interface Destination {
  /** Without `/v1`. */
  origin: string;
  key: string;
}

/** Asks the remote gw, so that a wrong URL or key fails here and not in the client. */
export async function remoteDestination(
  { gateway: { url, key }, ask }: { gateway: Pick<RemoteGateway, 'url' | 'key'>; ask: AskRemote },
  project: string | undefined,
): Promise<Destination> {
  const { project_id } = (await whoami(ask)).key;
  if (project !== undefined && project !== project_id) {
    throw usageError(
      `the key for ${url} belongs to project ${project_id}, not to ${project}. To make one, with an admin key: gw keys create -p ${project}`,
    );
  }
  return { origin: url, key };
}

/** The state of the gw that commands talk to. Throws GwError `server_unreachable` if a remote one does not answer. */
export async function daemonState(context: Context): Promise<DaemonState> {
  const remote = remoteOf(context);
  if (!remote) return findDaemon(context);
  const { url } = remote.gateway;
  // The client has checked that a gw answers.
  const { version, instance_id, pid, port, started_at } = (await remote.ask({ path: '/health' })) as Daemon;
  const daemon = { version, instance_id, pid, port, started_at, origin: url, local: url };
  return { kind: 'running', daemon };
}
