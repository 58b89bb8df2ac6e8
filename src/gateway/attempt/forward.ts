import { GwError, messageOf } from '../../errors.ts';
import type { Failure } from '../../routing/failure.ts';
import { readmitTranslated } from '../admission/readmit.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Route } from '../routing/route.ts';
import { recordResponsesSupport, translateAfterRefusal } from '../routing/translate.ts';
import { headerOf } from '../upstream/headers.ts';
import { noHostError } from '../upstream/openrouter-max-price.ts';
import type { UpstreamRequest } from '../upstream/send.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { deliver } from './ending.ts';
import { failOver } from './fail-over.ts';
import { rememberResponse } from './remember-response.ts';
import { type Settlement, settle } from './settle.ts';
import { endAttempt, historyText, startAttempt } from './start.ts';

/** What to forward next, or what has been delivered. */
export type Step = { next: Attempt } | { next: undefined; delivered: Delivered };

/** An answer that the client has, and how it was settled. */
export interface Delivered extends Settlement {
  attempt: Attempt;
  relay: Relay;
}

/**
 * Sends the request, brings the answer to the client and settles what it cost. The answer ends only when its record
 * is committed: who has read the end finds the usage on disk. What comes back is to be forwarded in turn: the request
 * in other words, where the provider turns out to have no such endpoint, or its next attempt at another target, where
 * this one failed before anything went out; or else what was delivered.
 */
export async function relayAnswer(
  gateway: Gateway,
  attempt: Attempt,
  outgoing: UpstreamRequest,
): Promise<Step> {
  const call = startAttempt(gateway, attempt, outgoing);
  endAttempt(gateway, call, await call.running.end);
  const { report, about } = call;
  const { target, route } = attempt;
  const translation = crossOver(gateway, attempt, report);
  const crossed = translation && (await translation);
  if (crossed) return { next: crossed };
  if (route && route.targets.length > 1) {
    const next = await tryElsewhere(gateway, attempt, route, report);
    if (next) return { next };
    if (route.history) about.route = historyText(route, report);
  }
  about.isFinal = isFinal(report, route);
  const { relay } = report;
  if (relay.status === 404) relay.refusal ??= noHostError(gateway, attempt, relay);
  prepare(report);
  const settlement = await settle(gateway, attempt, report, about);
  const { usage } = settlement;
  deliver(gateway, report, { provider: target.provider.name, about, usage });
  return { next: undefined, delivered: { attempt, relay, ...settlement } };
}

/** The request to send instead where the provider has no such endpoint; undefined at once where it has. */
function crossOver(
  gateway: Gateway,
  attempt: Attempt,
  report: AttemptResult,
): Promise<Attempt | undefined> | undefined {
  if (report.end.kind !== 'complete') return undefined;
  recordResponsesSupport(report.relay.status, attempt, gateway);
  rememberResponse(gateway, attempt.context, attempt.route, report.relay);
  try {
    const context = translateAfterRefusal(report.relay, attempt, gateway);
    return context && sendTranslated(gateway, attempt, context, report);
  } catch (error) {
    report.relay.refusal = refusalOf(error);
    return undefined;
  }
}

/** On a hold of its own: translated, a request may be longer than it was. */
async function sendTranslated(
  gateway: Gateway,
  attempt: Attempt,
  context: RequestContext,
  { relay }: AttemptResult,
): Promise<Attempt | undefined> {
  const { target, route } = attempt;
  const spent = route?.history?.costNanoUsd ?? 0;
  try {
    const admitted = await readmitTranslated(gateway, { context, target, spent });
    return admitted && { ...attempt, context, admitted };
  } catch (error) {
    relay.refusal = refusalOf(error);
    return undefined;
  }
}

async function tryElsewhere(
  gateway: Gateway,
  attempt: Attempt,
  route: Route,
  report: AttemptResult,
): Promise<Attempt | undefined> {
  if (!report.failure || report.relay.started) return undefined;
  try {
    return await failOver(gateway, attempt, route, report, report.failure);
  } catch (error) {
    // Such as a database that can't be written: what is held for the failed attempt has to be settled all the same.
    gateway.warn(`a request could not go on at another target: ${messageOf(error)}`);
    return undefined;
  }
}

/** Whether none of the accounts that may serve a request has money for it, or takes its key, until somebody sees to it. */
function isFinal({ failure, relay }: AttemptResult, route: Route | undefined): boolean {
  if (!failure || !route || headerOf(relay.headers, 'x-should-retry') !== undefined) return false;
  const tried = route.history?.tried ?? [];
  if (tried.length + 1 < route.targets.length) return false;
  return isLasting(failure) && tried.every((before) => isLasting(before.failure));
}

function isLasting({ class: failure, cooldownMs }: Failure): boolean {
  return (failure === 'quota' || failure === 'auth') && cooldownMs === undefined;
}

/** Makes of a whole answer what the client will be told. The hold has to be settled, whatever is wrong with it. */
function prepare({ relay, end }: AttemptResult): void {
  if (end.kind !== 'complete' || relay.refusal) return;
  try {
    relay.prepare();
  } catch (error) {
    relay.refusal = refusalOf(error);
  }
}

function refusalOf(cause: unknown): GwError {
  if (cause instanceof GwError) return cause;
  return new GwError(`the provider's answer cannot be translated (${messageOf(cause)})`, {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
    cause,
  });
}
