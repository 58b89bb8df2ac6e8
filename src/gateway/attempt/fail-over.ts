import { GwError } from '../../errors.ts';
import type { Failure } from '../../routing/failure.ts';
import type { ReadmitParts } from '../admission/readmit.ts';
import { type ReadmitResult, readmit } from '../admission/readmit.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { MeterParts } from '../metering/meter.ts';
import { type AttemptHistory, nextOf, pin, type Route, targetAt } from '../routing/route.ts';
import { translateRequest } from '../routing/translate.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import type { AttemptResult, RoutedAttempt } from './attempt.ts';
import { remainingMs } from './deadline.ts';
import { appendFailure } from './history.ts';
import { meterAttempt } from './meter-attempt.ts';

/** What this stage uses of the gateway. */
export type FailOverParts = ReadmitParts &
  MeterParts &
  Pick<Gateway, 'router' | 'responsesSupport' | 'memory'>;

/**
 * Finds another target for a request whose attempt failed before anything of its answer went out. Replaces the hold by
 * one for the cost so far and the worst case at that target. Skips targets that can't serve the request and those that
 * the budgets have no room for. Undefined if none is left.
 */
export async function failOver(
  gateway: FailOverParts,
  attempt: RoutedAttempt,
  result: AttemptResult,
  failure: Failure,
): Promise<RoutedAttempt | undefined> {
  const { route } = attempt;
  const durationMs = gateway.clock.monotonic() - result.sentAt;
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
    result.metered ??= await meterAttempt(gateway, attempt, result);
    const history = appendFailure(route.history, tried, {
      target: route.target,
      failure,
      status: result.relay.status,
      durationMs,
      metered: result.metered,
    });
    const admitted = await readmit(gateway, {
      context,
      target,
      first: route.first,
      spent: history.costNanoUsd,
    });
    if (admitted === 'no room') continue;
    if (admitted === 'resolved before') return undefined;
    pin(gateway, context, target.candidate);
    return attemptAt(route, { context, target, admitted, lastResort: next.lastResort, history });
  }
}

interface NextTarget extends Pick<Route, 'target' | 'lastResort'> {
  context: RequestContext;
  admitted: Exclude<ReadmitResult, string>;
  history: AttemptHistory;
}

function attemptAt(
  route: Route,
  { context, target, admitted, lastResort, history }: NextTarget,
): RoutedAttempt {
  route.target = target;
  route.lastResort = lastResort;
  route.history = history;
  return { context, target, admitted, why: route.why, route };
}

/** The request translated for a target's API; undefined if it can't be expressed there. */
function translatedOrNone(
  gateway: FailOverParts,
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
