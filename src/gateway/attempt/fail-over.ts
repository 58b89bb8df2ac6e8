import { GwError } from '../../errors.ts';
import type { Failure } from '../../routing/failure.ts';
import { type Readmitted, readmit } from '../admission/readmit.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import { nextOf, pin, type Route, targetAt } from '../routing/route.ts';
import { cross } from '../routing/translate.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import type { CallReport, Forwarding } from './attempt.ts';
import { remainingMs } from './deadline.ts';
import { withFailed } from './history.ts';
import { meterReport } from './meter-report.ts';

/**
 * Finds another target for a request whose attempt failed before anything of its answer went out, and room for it in
 * the budgets: the hold is exchanged for what was spent so far and the worst case there. Targets that cannot take the
 * request, or have no room, are passed over. Undefined where there is none: the failure is the request's end.
 */
export async function failOver(
  gateway: Gateway,
  forwarding: Forwarding,
  route: Route,
  report: CallReport,
  failure: Failure,
): Promise<Forwarding | undefined> {
  const durationMs = gateway.clock.monotonic() - report.sentAt;
  const tried = [
    ...(route.attempts?.tried ?? []),
    { target: route.target.candidate, failure, lastResort: route.lastResort },
  ];
  let candidates = route.targets;
  for (;;) {
    const next = nextOf(gateway, route.job, {
      targets: candidates,
      tried,
      remainingMs: remainingMs(gateway, forwarding.job),
    });
    if (next.kind !== 'attempt' || forwarding.job.exchange.gone) return undefined;
    const target = targetAt(candidates, next.target);
    candidates = candidates.filter((other) => other !== target);
    const job = crossed(gateway, route, target);
    if (!job) continue;
    report.metered ??= await meterReport(gateway, forwarding, report);
    const attempts = withFailed(route.attempts, tried, {
      target: route.target,
      failure,
      status: report.relay.status,
      durationMs,
      metered: report.metered,
    });
    const admitted = await readmit(gateway, { job, target, first: route.first, spent: attempts.costNanoUsd });
    if (admitted === 'no room') continue;
    if (admitted === 'resolved before') return undefined;
    pin(gateway, job, target.candidate);
    return goOn(route, { job, target, admitted, lastResort: next.lastResort, attempts });
  }
}

interface Step extends Pick<Route, 'target' | 'lastResort'> {
  job: Job;
  admitted: Exclude<Readmitted, string>;
  attempts: NonNullable<Route['attempts']>;
}

function goOn(route: Route, { job, target, admitted, lastResort, attempts }: Step): Forwarding {
  route.target = target;
  route.lastResort = lastResort;
  route.attempts = attempts;
  return { job, target, admitted, why: route.why, route };
}

/** The request in the words of the target's wire; undefined where it cannot be said there. */
function crossed(gateway: Gateway, { job }: Route, target: RoutedTarget): Job | undefined {
  try {
    return cross(job, target, gateway);
  } catch (error) {
    if (error instanceof GwError) return undefined;
    throw error;
  }
}
