import { GwError, messageOf } from '../../errors.ts';
import type { Failure } from '../../routing/failure.ts';
import { readmitTranslated } from '../admission/readmit.ts';
import type { Relay } from '../answer/relay.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import type { Route } from '../routing/route.ts';
import { crossAfter, learnEndpoint } from '../routing/translate.ts';
import { headerOf } from '../upstream/headers.ts';
import { noHostError } from '../upstream/openrouter-max-price.ts';
import type { Outgoing } from '../upstream/send.ts';
import type { CallReport, Forwarding } from './attempt.ts';
import { deliver } from './ending.ts';
import { failOver } from './fail-over.ts';
import { rememberResponse } from './remember-response.ts';
import { type Settlement, settle } from './settle.ts';
import { endCall, startCall, trailText } from './start.ts';

/** What to forward next, or what has been delivered. */
export type Step = { next: Forwarding } | { next: undefined; delivered: Delivered };

/** An answer that the client has, and how it was settled. */
export interface Delivered extends Settlement {
  forwarding: Forwarding;
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
  forwarding: Forwarding,
  outgoing: Outgoing,
): Promise<Step> {
  const call = startCall(gateway, forwarding, outgoing);
  endCall(gateway, call, await call.running.end);
  const { report, about } = call;
  const { target, route } = forwarding;
  const crossing = crossOver(gateway, forwarding, report);
  const crossed = crossing && (await crossing);
  if (crossed) return { next: crossed };
  if (route && route.targets.length > 1) {
    const next = await tryElsewhere(gateway, forwarding, route, report);
    if (next) return { next };
    if (route.attempts) about.route = trailText(route, report);
  }
  about.isFinal = isFinal(report, route);
  const { relay } = report;
  if (relay.status === 404) relay.refusal ??= noHostError(gateway, forwarding, relay);
  prepare(report);
  const settlement = await settle(gateway, forwarding, report, about);
  const { usage } = settlement;
  deliver(gateway, report, { provider: target.provider.name, about, usage });
  return { next: undefined, delivered: { forwarding, relay, ...settlement } };
}

/** The request to send instead where the provider has no such endpoint; undefined at once where it has. */
function crossOver(
  gateway: Gateway,
  forwarding: Forwarding,
  report: CallReport,
): Promise<Forwarding | undefined> | undefined {
  if (report.end.kind !== 'complete') return undefined;
  learnEndpoint(report.relay.status, forwarding, gateway);
  rememberResponse(gateway, forwarding.job, forwarding.route, report.relay);
  try {
    const job = crossAfter(report.relay, forwarding, gateway);
    return job && sendTranslated(gateway, forwarding, job, report);
  } catch (error) {
    report.relay.refusal = refusalOf(error);
    return undefined;
  }
}

/** On a hold of its own: translated, a request may be longer than it was. */
async function sendTranslated(
  gateway: Gateway,
  forwarding: Forwarding,
  job: Job,
  { relay }: CallReport,
): Promise<Forwarding | undefined> {
  const { target, route } = forwarding;
  const spent = route?.attempts?.costNanoUsd ?? 0;
  try {
    const admitted = await readmitTranslated(gateway, { job, target, spent });
    return admitted && { ...forwarding, job, admitted };
  } catch (error) {
    relay.refusal = refusalOf(error);
    return undefined;
  }
}

async function tryElsewhere(
  gateway: Gateway,
  forwarding: Forwarding,
  route: Route,
  report: CallReport,
): Promise<Forwarding | undefined> {
  if (!report.failure || report.relay.started) return undefined;
  try {
    return await failOver(gateway, forwarding, route, report, report.failure);
  } catch (error) {
    // Such as a database that can't be written: what is held for the failed attempt has to be settled all the same.
    gateway.warn(`a request could not go on at another target: ${messageOf(error)}`);
    return undefined;
  }
}

/** Whether none of the accounts that may serve a request has money for it, or takes its key, until somebody sees to it. */
function isFinal({ failure, relay }: CallReport, route: Route | undefined): boolean {
  if (!failure || !route || headerOf(relay.headers, 'x-should-retry') !== undefined) return false;
  const tried = route.attempts?.tried ?? [];
  if (tried.length + 1 < route.targets.length) return false;
  return isLasting(failure) && tried.every((before) => isLasting(before.failure));
}

function isLasting({ class: failure, cooldownMs }: Failure): boolean {
  return (failure === 'quota' || failure === 'auth') && cooldownMs === undefined;
}

/** Makes of a whole answer what the client will be told. The hold has to be settled, whatever is wrong with it. */
function prepare({ relay, end }: CallReport): void {
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
