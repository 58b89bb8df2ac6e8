import { GwError, messageOf } from '../../errors.ts';
import { headerOf } from '../../raw-headers.ts';
import type { Failure } from '../../routing/failure.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Route } from '../routing/route.ts';
import { noHostError } from '../upstream/openrouter-max-price.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { historyText } from './history.ts';

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

/** The error for an answer that can't be translated. A GwError is returned as it is. */
export function refusalOf(cause: unknown): GwError {
  if (cause instanceof GwError) return cause;
  return new GwError(`the provider's answer cannot be translated (${messageOf(cause)})`, {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
    cause,
  });
}
