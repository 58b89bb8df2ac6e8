import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';

/** Until the time by which somebody has to have answered: gw's own limit, or that of the client if it tells. */
export function remainingMs(gateway: Gateway, { exchange }: RequestContext): number {
  const own = gateway.settings()['routing.deadline_ms'];
  const told = Number(exchange.request.headers['x-stainless-timeout']) * 1_000;
  const limit = told > 0 && told < own ? told : own;
  return exchange.startedAt + limit - gateway.clock.monotonic();
}
