import type { Admin } from '../reading/admin.ts';
import type { Reader } from '../reading/reader.ts';
import type { Context } from './context.ts';
import { remoteOf } from './remote/connection.ts';

/** What commands read and change. */
export interface GatewayAccess {
  reader: Reader;
  /** Loaded when a command changes something. */
  admin: () => Promise<Admin>;
}

/** Runs `work` on the remote gw that the environment or a login names, else on this machine's database. */
export async function withGateway<T>(
  context: Context,
  work: (gateway: GatewayAccess) => Promise<T>,
): Promise<T> {
  const remote = remoteOf(context);
  if (!remote) {
    const { withLocalGateway } = await import('./local-gateway.ts');
    return withLocalGateway(context, work);
  }
  const { createRemoteReader } = await import('../remote/reader.ts');
  return work({
    reader: createRemoteReader(remote.ask, context.clock),
    admin: async () => (await import('../remote/admin.ts')).createRemoteAdmin(remote.ask),
  });
}

/** As `withGateway`, for commands that only read. */
export function withReader<T>(context: Context, work: (reader: Reader) => Promise<T>): Promise<T> {
  return withGateway(context, ({ reader }) => work(reader));
}

/** As `withGateway`, for commands that change something. */
export function withAdmin<T>(
  context: Context,
  work: (admin: Admin, reader: Reader) => Promise<T>,
): Promise<T> {
  return withGateway(context, async ({ reader, admin }) => work(await admin(), reader));
}
