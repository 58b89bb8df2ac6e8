import type { IncomingMessage } from 'node:http';
import { badRequest } from '../errors.ts';
import type { Exchange } from '../gateway/context/exchange.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { readBody } from '../gateway/intake/read-body.ts';
import type { Caller } from '../store/accounts/callers.ts';
import { headOf, type PageSessions } from './page/sessions.ts';
import { respondJson } from './respond.ts';
import type { Handler, PathParameters } from './routes.ts';

/** Computes the response body of an endpoint, or throws GwError. */
export type JsonEndpoint = (
  caller: Caller,
  exchange: Exchange,
  parameters: PathParameters,
) => Promise<unknown>;

/** Turns an endpoint into a handler that authenticates the caller and responds with JSON. */
export type ToHandler = (endpoint: JsonEndpoint, status?: number) => Handler;

export function createJsonHandlers(
  gateway: Pick<Gateway, 'authenticator' | 'ledger'>,
  sessions: PageSessions,
): ToHandler {
  const { authenticator, ledger } = gateway;
  return (endpoint, status = 200) =>
    async (exchange, parameters) => {
      const { request, response, id } = exchange;
      const caller = authenticator.authenticate(sessions.headersOf(headOf(request)));
      // Settlements may be committed after the answer's end, and whoever has read it finds them here.
      await ledger.settled();
      respondJson(response, status, await endpoint(caller, exchange, parameters), { id });
    };
}

const MAX_BYTES = 64 * 1024;

/** The JSON body of a request to gw itself. Throws GwError 400, 413, 415. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBody(request, { maxBytes: MAX_BYTES, fixed: true });
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw badRequest('the request body is not valid JSON', undefined, 'invalid_json');
  }
}
