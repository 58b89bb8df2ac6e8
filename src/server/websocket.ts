import type { IncomingMessage } from 'node:http';
import { GwError } from '../errors.ts';

/**
 * Refuses a WebSocket at any path with a 426: gw meters HTTP only. Codex opens one first; after a 426 it sends the same
 * request over HTTP at once, after any other status it retries for seconds. Other protocols, such as `h2c`, are offers
 * that a server may ignore: https://www.rfc-editor.org/rfc/rfc9110#section-7.8
 */
export function refuseWebSocket({ headers: { upgrade } }: IncomingMessage): void {
  if (upgrade === undefined || !/\bwebsocket\b/i.test(upgrade)) return;
  throw new GwError('gw has no WebSocket endpoints: send the request over HTTP, as POST /v1/responses', {
    status: 426,
    type: 'invalid_request_error',
    code: 'websocket_unsupported',
    headers: { upgrade: 'HTTP/1.1', connection: 'upgrade' },
  });
}
