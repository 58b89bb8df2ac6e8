import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';

/** Time to the deadline: the earlier of gw's own limit and the client's. */
export function remainingMs(
  gateway: Pick<Gateway, 'clock' | 'settings'>,
  { exchange }: AnyRequestContext,
): number {
  const own = gateway.settings()['routing.deadline_ms'];
  const clients = Number(exchange.request.headers['x-stainless-timeout']) * 1_000;
  const limit = clients > 0 && clients < own ? clients : own;
  return exchange.startedAt + limit - gateway.clock.monotonic();
}
