import type { Gateway } from '../gateway/context/gateway.ts';
import type { Db } from '../store/database/open.ts';
import type { ToHandler } from './json-handlers.ts';
import type { RouteTable } from './routes.ts';

export interface KeyRoutesOptions {
  gateway: Pick<Gateway, 'ledger' | 'clock'>;
  db: Db;
  json: ToHandler;
  /** Applies the change in this process. */
  reload: () => Promise<void>;
}

/** The routes of keys, for commands that run on other machines. */
export function keyRoutes({ gateway, db, json, reload }: KeyRoutesOptions): RouteTable {
  // Loaded on first use, as its schema is.
  const endpoints = () => import('./keys-endpoint.ts');
  const context = () => ({ db, ledger: gateway.ledger, now: gateway.clock.now() });
  return {
    'GET /v1/gw/whoami': json(async (caller) => (await endpoints()).whoamiEndpoint(caller, db)),
    'POST /v1/gw/keys': json(async (caller, { request }) => {
      const body = await (await endpoints()).createKeyEndpoint(caller, request, context());
      await reload();
      return body;
    }, 201),
    'DELETE /v1/gw/keys/{id}': json(async (caller, _exchange, { id = '' }) => {
      const body = await (await endpoints()).revokeKeyEndpoint(caller, id, context());
      await reload();
      return body;
    }),
  };
}
