import type { AskRemote } from '../../remote/client.ts';
import type { RemoteGateway } from '../../remote/target.ts';
import { usageError } from '../exit.ts';
import { whoami } from '../remote/connection.ts';

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
