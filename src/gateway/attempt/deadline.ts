import { clientLimitMs } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';

/** Time to the deadline: the earlier of gw's own limit and the client's. */
export function remainingMs(
  gateway: Pick<Gateway, 'clock' | 'settings'>,
  { exchange }: AnyRequestContext,
): number {
  const own = gateway.settings()['routing.deadline_ms'];
  return exchange.startedAt + Math.min(own, clientLimitMs(exchange)) - gateway.clock.monotonic();
}
