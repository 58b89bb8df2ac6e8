import { headerOf } from '../../raw-headers.ts';
import type { Failure } from '../../routing/failure.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Route } from '../routing/route.ts';
import { noHostError } from '../upstream/openrouter-max-price.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { historyText } from './history.ts';
import { refusalOf } from './refusal.ts';

/** Prepares the client's answer after the last attempt. Never throws: the hold has to be settled in any case. */
export function prepareAnswer(
  gateway: Pick<Gateway, 'settings'>,
  attempt: Attempt,
  result: AttemptResult,
): void {
  const { relay, headers, end } = result;
  const { route } = attempt;
  if (route?.history) headers.route = historyText(route, result);
  headers.isFinal = isFinal(result, route);
  if (attempt.route && relay.status === 404) relay.refusal ??= noHostError(gateway, attempt, relay);
  if (end.kind !== 'complete' || relay.refusal || relay.abandonedStatus !== undefined) return;
  try {
    relay.prepare();
  } catch (error) {
    relay.refusal = refusalOf(error);
  }
}

/** Whether every account that may serve the request lacks credit or has a rejected key, which only a person can fix. */
function isFinal({ failure, relay }: AttemptResult, route: Route | undefined): boolean {
  if (!failure || !route || headerOf(relay.headers, 'x-should-retry') !== undefined) return false;
  const tried = route.history?.tried ?? [];
  if (tried.length + 1 < route.targets.length) return false;
  return isLasting(failure) && tried.every((before) => isLasting(before.failure));
}

function isLasting({ class: failure, cooldownMs }: Failure): boolean {
  return (failure === 'quota' || failure === 'auth') && cooldownMs === undefined;
}
