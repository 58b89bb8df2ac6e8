import type { HealthPermit } from '../../routing/health.ts';
import { Relay } from '../answer/relay.ts';
import type { ServiceHeaders } from '../answer/service-headers.ts';
import { serviceHeaders } from '../answer/service-headers.ts';
import type { Gateway } from '../context/gateway.ts';
import { meterAtBound } from '../metering/meter.ts';
import type { Route } from '../routing/route.ts';
import type { CallEnd, Outgoing } from '../upstream/send.ts';
import type { CallReport, Forwarding } from './attempt.ts';
import { endAttempt, reportContent } from './detect-failure.ts';
import { callProvider, type RunningCall } from './guarded-call.ts';
import { attemptsText, wordFor } from './history.ts';

/** A call of a target under way. */
export interface Call {
  forwarding: Forwarding;
  report: CallReport;
  about: ServiceHeaders;
  /** Left out for what is passed through. */
  permit: HealthPermit | undefined;
  running: RunningCall;
}

/** Sends the request to its target; nothing but a stream's content goes out before the call has ended. */
export function startCall(gateway: Gateway, forwarding: Forwarding, outgoing: Outgoing): Call {
  const { job, route } = forwarding;
  const several = route !== undefined && route.targets.length > 1;
  const about = aboutOf(forwarding);
  const relay = new Relay({
    exchange: job.exchange,
    wire: job.wire,
    translator: job.translator,
    hideUsage: job.asked.stream && !job.asked.wantsUsage,
    holdsBack: several,
    ownHeaders: () => serviceHeaders(about),
    clientIdleMs: gateway.settings()['limits.client_idle_ms'],
    now: () => gateway.clock.monotonic(),
  });
  const permit = route && gateway.router.health.begin(route.target.candidate);
  const sentAt = gateway.clock.monotonic();
  if (permit && several) relay.onContent = () => reportContent(permit, relay, sentAt);
  const report: CallReport = { relay, sentAt, end: NO_END, failure: undefined };
  const running = callProvider(gateway, forwarding, outgoing, relay);
  return { forwarding, report, about, permit, running };
}

const NO_END: CallEnd = { kind: 'aborted', sent: false };

/** Reads what only the end tells, and lets the router know how it went. */
export function endCall(gateway: Gateway, call: Call, end: CallEnd): void {
  const { report, permit, running } = call;
  report.end = running.close(end);
  try {
    if (report.end.kind === 'complete') report.relay.readEnd();
    if (permit) report.failure = endAttempt(gateway, permit, report);
  } catch (error) {
    report.metered = meterAtBound(gateway, call.forwarding.admitted, error);
    permit?.ended();
  }
}

/** What the answer's headers say; cost and what is left of the budget are completed as they come to be known. */
function aboutOf({ job, target, admitted, why, route }: Forwarding): ServiceHeaders {
  return {
    id: job.exchange.id,
    model: target.model,
    provider: target.provider.name,
    route: route?.attempts ? trailText(route, undefined) : why,
    savedTokens: job.savedTokens,
    costNanoUsd: undefined,
    remainingNanoUsd: admitted.remaining,
  };
}

/** Attempt history including the running attempt, which counts as healthy until it fails. */
export function trailText({ job, why, attempts, target }: Route, report: CallReport | undefined): string {
  const { provider, model } = target;
  const outcome = report ? wordFor(report.failure, report.relay.status) : 'ok';
  const text = attemptsText([...(attempts?.entries ?? []), { provider: provider.name, model, outcome }]);
  return job.tier ? `${why}; ${text}` : text;
}
