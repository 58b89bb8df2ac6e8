import type { HealthPermit } from '../../routing/health.ts';
import { Relay } from '../answer/relay.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { meterAtBound } from '../metering/meter.ts';
import type { Route } from '../routing/route.ts';
import type { CallEnd, UpstreamRequest } from '../upstream/send.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { detectFailure, reportContent } from './detect-failure.ts';
import { callProvider, type GuardedCall } from './guarded-call.ts';
import { attemptsText, outcomeWord } from './history.ts';

/** A call of a target under way. */
export interface RunningAttempt {
  attempt: Attempt;
  report: AttemptResult;
  about: ServiceHeaders;
  /** Left out for what is passed through. */
  permit: HealthPermit | undefined;
  running: GuardedCall;
}

/** Sends the request to its target; nothing but a stream's content goes out before the call has ended. */
export function startAttempt(gateway: Gateway, attempt: Attempt, outgoing: UpstreamRequest): RunningAttempt {
  const { context, route } = attempt;
  const several = route !== undefined && route.targets.length > 1;
  const about = aboutOf(attempt);
  const relay = new Relay({
    exchange: context.exchange,
    wire: context.wire,
    translator: context.translator,
    hideUsage: context.request.stream && !context.request.wantsUsage,
    holdsBack: several,
    ownHeaders: () => serviceHeaders(about),
    clientIdleMs: gateway.settings()['limits.client_idle_ms'],
    now: () => gateway.clock.monotonic(),
  });
  const permit = route && gateway.router.health.begin(route.target.candidate);
  const sentAt = gateway.clock.monotonic();
  if (permit && several) relay.onContent = () => reportContent(permit, relay, sentAt);
  const report: AttemptResult = { relay, sentAt, end: NO_END, failure: undefined };
  const running = callProvider(gateway, attempt, outgoing, relay);
  return { attempt, report, about, permit, running };
}

const NO_END: CallEnd = { kind: 'aborted', sent: false };

/** Reads what only the end tells, and lets the router know how it went. */
export function endAttempt(gateway: Gateway, call: RunningAttempt, end: CallEnd): void {
  const { report, permit, running } = call;
  report.end = running.close(end);
  try {
    if (report.end.kind === 'complete') report.relay.readEnd();
    if (permit) report.failure = detectFailure(gateway, permit, report);
  } catch (error) {
    report.metered = meterAtBound(gateway, call.attempt.admitted, error);
    permit?.ended();
  }
}

/** What the answer's headers say; cost and what is left of the budget are completed as they come to be known. */
function aboutOf({ context, target, admitted, why, route }: Attempt): ServiceHeaders {
  return {
    id: context.exchange.id,
    model: target.model,
    provider: target.provider.name,
    route: route?.history ? historyText(route, undefined) : why,
    savedTokens: context.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
  };
}

/** Attempt history including the running attempt, which counts as healthy until it fails. */
export function historyText(
  { context, why, history, target }: Route,
  report: AttemptResult | undefined,
): string {
  const { provider, model } = target;
  const outcome = report ? outcomeWord(report.failure, report.relay.status) : 'ok';
  const text = attemptsText([...(history?.entries ?? []), { provider: provider.name, model, outcome }]);
  return context.tier ? `${why}; ${text}` : text;
}
