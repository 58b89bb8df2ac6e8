import type { Reader } from '../operations/registry.ts';
import type { Context } from './context.ts';
import { remoteOf } from './remote/connection.ts';

/** Runs `work` on the remote gw that the environment or a login names, else on this machine's database. */
export async function withGateway<T>(context: Context, work: (gateway: Reader) => Promise<T>): Promise<T> {
  const remote = remoteOf(context);
  if (!remote) {
    const { withLocalGateway } = await import('./local-gateway.ts');
    return withLocalGateway(context, work);
  }
  const { createRemoteReader } = await import('../remote/reader.ts');
  return work(createRemoteReader(remote.ask, context.clock));
}
