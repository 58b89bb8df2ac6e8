import { GwError } from '../../errors.ts';
import type { Failure } from '../../routing/failure.ts';
import { type Readmitted, readmit } from '../admission/readmit.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { nextOf, pin, type Route, targetAt } from '../routing/route.ts';
import { translateRequest } from '../routing/translate.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import type { Attempt, AttemptResult } from './attempt.ts';
import { remainingMs } from './deadline.ts';
import { appendFailure } from './history.ts';
import { meterReport } from './meter-report.ts';

/**
 * Finds another target for a request whose attempt failed before anything of its answer went out, and room for it in
 * the budgets: the hold is exchanged for what was spent so far and the worst case there. Targets that cannot take the
 * request, or have no room, are passed over. Undefined where there is none: the failure is the request's end.
 */
export async function failOver(
  gateway: Gateway,
  attempt: Attempt,
  route: Route,
  report: AttemptResult,
  failure: Failure,
): Promise<Attempt | undefined> {
  const durationMs = gateway.clock.monotonic() - report.sentAt;
  const tried = [
    ...(route.history?.tried ?? []),
    { target: route.target.candidate, failure, lastResort: route.lastResort },
  ];
  let candidates = route.targets;
  for (;;) {
    const next = nextOf(gateway, route.context, {
      targets: candidates,
      tried,
      remainingMs: remainingMs(gateway, attempt.context),
    });
    if (next.kind !== 'attempt' || attempt.context.exchange.gone) return undefined;
    const target = targetAt(candidates, next.target);
    candidates = candidates.filter((other) => other !== target);
    const context = translatedOrNone(gateway, route, target);
    if (!context) continue;
    report.metered ??= await meterReport(gateway, attempt, report);
    const attempts = appendFailure(route.history, tried, {
      target: route.target,
      failure,
      status: report.relay.status,
      durationMs,
      metered: report.metered,
    });
    const admitted = await readmit(gateway, {
      context,
      target,
      first: route.first,
      spent: attempts.costNanoUsd,
    });
    if (admitted === 'no room') continue;
    if (admitted === 'resolved before') return undefined;
    pin(gateway, context, target.candidate);
    return goOn(route, { context, target, admitted, lastResort: next.lastResort, attempts });
  }
}

interface Step extends Pick<Route, 'target' | 'lastResort'> {
  context: RequestContext;
  admitted: Exclude<Readmitted, string>;
  attempts: NonNullable<Route['history']>;
}

function goOn(route: Route, { context, target, admitted, lastResort, attempts }: Step): Attempt {
  route.target = target;
  route.lastResort = lastResort;
  route.history = attempts;
  return { context, target, admitted, why: route.why, route };
}

/** The request in the words of the target's wire; undefined where it cannot be said there. */
function translatedOrNone(
  gateway: Gateway,
  { context }: Route,
  target: RoutedTarget,
): RequestContext | undefined {
  try {
    return translateRequest(context, target, gateway);
  } catch (error) {
    if (error instanceof GwError) return undefined;
    throw error;
  }
}
