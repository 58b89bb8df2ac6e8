import { GwError, type GwErrorOptions, messageOf } from '../../errors.ts';
import { headerOf, headersByName } from '../../raw-headers.ts';
import type { Failure, FailureClass } from '../../routing/failure.ts';
import { describeError, parseObject } from '../../wire/answer/events.ts';
import { type ServiceHeaders, serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { PROJECT_PAUSED, pausedMessage } from '../context/request-context.ts';
import type { Route } from '../routing/route.ts';
import { noHostError } from '../upstream/openrouter-max-price.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { historyText } from './history.ts';
import { describeFailure, isRequestFault, isWithheld, reasonOf, statusFor } from './outcome.ts';
import type { Settlement } from './settle.ts';

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

/**
 * Ends the answer. Its record may be committed up to 2 ms later, together with the next request's hold; gw's own reports
 * over HTTP wait for that. Throws GwError for a failure if nothing of the answer has gone out.
 */
export function deliver(
  { pasteable, redact }: Pick<Gateway, 'pasteable' | 'redact'>,
  { context, target }: Attempt,
  result: AttemptResult,
  { usage }: Settlement,
): void {
  const { relay, end, failure, headers } = result;
  if (relay.abandonedStatus !== undefined) return;
  const provider = target.provider.name;
  if (end.kind === 'complete') {
    if (relay.refusal) throw relay.refusal;
    if (failure && isWithheld(result))
      throw inBandError(errorIn(relay, redact), failure.class, provider, headers);
    if (relay.isCutShort) relay.breakOff(endedEarly(provider));
    else relay.finish();
  } else if (end.kind === 'capped') relay.finishAtLimit(usage);
  else if (end.kind === 'aborted') return;
  else if (end.kind === 'cut') {
    const message = pausedMessage(context.project);
    if (relay.started) relay.breakOff({ message: pasteable(message), code: PROJECT_PAUSED.code });
    else throw failureOf(message, PROJECT_PAUSED, headers);
  } else {
    const { status, code, message: what } = describeFailure(end);
    const message = `${provider} ${what} (${reasonOf(end)}). See: gw providers test ${provider}`;
    if (relay.started) relay.breakOff({ message: pasteable(message), code });
    else throw failureOf(message, { status, type: 'api_error', code, cause: end.error }, headers);
  }
}

/** The message of the error inside the answer. */
function errorIn(relay: AttemptResult['relay'], redact: (text: string) => string): string | undefined {
  const error = relay.streamError ?? parseObject(relay.body())?.error;
  return error ? redact(describeError(error)) : undefined;
}

function inBandError(
  message: string | undefined,
  failure: FailureClass,
  provider: string,
  headers: ServiceHeaders,
): GwError {
  const what = message ?? (failure === 'server' ? 'nothing of use' : failure);
  const options: GwErrorOptions = {
    status: statusFor(failure),
    type:
      failure === 'rate_limit'
        ? 'rate_limit_error'
        : isRequestFault(failure)
          ? 'invalid_request_error'
          : 'api_error',
    code: failure === 'context_overflow' ? 'context_length_exceeded' : 'upstream_error',
  };
  return failureOf(`${provider} answered with an error: ${what}`, options, headers);
}

/** An error with gw's own headers, like an answer. */
function failureOf(message: string, options: GwErrorOptions, own: ServiceHeaders): GwError {
  return new GwError(message, { ...options, headers: headersByName(serviceHeaders(own)) });
}

function endedEarly(provider: string): { message: string; code: string } {
  return { message: `${provider} ended its answer before it was whole`, code: 'upstream_failed' };
}
