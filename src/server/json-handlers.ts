import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import type { Caller } from '../store/accounts/callers.ts';
import { respondJson } from './respond.ts';
import type { Handler, PathParameters } from './routes.ts';

/** Computes the response body of an endpoint, or throws GwError. */
type JsonEndpoint = (caller: Caller, exchange: Exchange, parameters: PathParameters) => Promise<unknown>;

/** Turns an endpoint into a handler that authenticates the caller and responds with JSON. */
export type ToHandler = (endpoint: JsonEndpoint, status?: number) => Handler;

export function createJsonHandlers({
  authenticator,
  ledger,
}: Pick<Gateway, 'authenticator' | 'ledger'>): ToHandler {
  return (endpoint, status = 200) =>
    async (exchange, parameters) => {
      const { request, response, id } = exchange;
      const caller = authenticator.authenticate(request.headers);
      // Settlements may be committed after the answer's end, and whoever has read it finds them here.
      await ledger.settled();
      respondJson(response, status, await endpoint(caller, exchange, parameters), { id });
    };
}
