import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { UpstreamRequest } from '../upstream/send.ts';
import type { RoutedAttempt } from './attempt.ts';

/** Keeps the client's body, that of the optimizer, and the one that is about to be sent. */
export function keepBodies(
  gateway: Pick<Gateway, 'keptBodies'>,
  { clientBody, exchange, request, wire }: RequestContext,
  attempt: RoutedAttempt,
  { body }: UpstreamRequest,
): void {
  if (!clientBody || !body) return;
  gateway.keptBodies.keep(exchange.id, {
    endpoint: wire.path.slice(1),
    client: clientBody,
    optimized: request.bytes,
    sent: body,
    sentEndpoint: attempt.context.wire.path.slice(1),
  });
}
