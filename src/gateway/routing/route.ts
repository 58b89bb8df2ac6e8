import { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import type { Candidate } from '../../routing/candidate.ts';
import type { Health } from '../../routing/health.ts';
import type { Capabilities } from '../../routing/needs.ts';
import {
  type NextAttempt,
  type NextAttemptOptions,
  nextAttempt,
  type Tried,
} from '../../routing/next-attempt.ts';
import type { OrderOptions } from '../../routing/order.ts';
import { countRequest } from '../../routing/retry-budget.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolve.ts';
import { affinityOf, targetsWithAffinity } from './affinity.ts';
import { contextWindowOf } from './context-window.ts';
import { describeTier } from './describe-tier.ts';
import { canTranslateTo } from './translate.ts';

/** Where a request goes, where it may go else, and why. */
export interface Route {
  /** The request as it was before it was translated for a target. */
  context: RequestContext;
  /** The target of the attempt under way. */
  target: RoutedTarget;
  /** The target of the first attempt. */
  first: RoutedTarget;
  /** All that may serve it, by priority. With one there is no second attempt. */
  targets: readonly RoutedTarget[];
  /** Others serve the model too, whether or not they may serve this request. */
  hasOthers: boolean;
  /** The target was to be left alone, but there is no better one. */
  lastResort: boolean;
  /** For the header `x-service-route`. */
  why: string;
  /** The attempts that have failed. */
  history?: AttemptHistory;
}

/**
 * The router's stage: the healthy target of the best priority; among equals, the better of two by time to first byte
 * and requests under way. Throws GwError 429 where each of several targets has asked to be left alone.
 */
export function route(gateway: Gateway, context: RequestContext, targets: readonly RoutedTarget[]): Route {
  const [first] = targets;
  if (!first) throw new Error(`no target for ${context.request.model}`);
  if (context.options.route === false) return routeTo(context, first, [first], 'off');
  if (targets.length > 1) return chooseAmong(gateway, context, targets, first);
  // With nobody else to ask, when to come back is the client's to heed, which was told.
  countRequest(gateway.router.budget, gateway.clock.monotonic());
  pin(gateway, context, first.candidate);
  return routeTo(context, first, targets, whyOf(context));
}

function routeTo(
  context: RequestContext,
  target: RoutedTarget,
  targets: readonly RoutedTarget[],
  why: string,
): Route {
  return { context, target, first: target, targets, hasOthers: false, lastResort: false, why };
}

function chooseAmong(
  gateway: Gateway,
  context: RequestContext,
  all: readonly RoutedTarget[],
  first: RoutedTarget,
): Route {
  const { targets, isPinned } = candidatesAmong(gateway, context, all, first);
  const next = nextOf(gateway, context, { targets, isPinned, tried: [] });
  if (next.kind === 'wait') throw leftAlone(targetAt(targets, next.target), next.waitMs);
  if (next.kind === 'stop') throw new Error(`no target for ${context.request.model}: ${next.because}`);
  pin(gateway, context, next.target);
  const route = routeTo(context, targetAt(targets, next.target), targets, whyOf(context));
  route.hasOthers = true;
  route.lastResort = next.lastResort;
  return route;
}

/** The targets that can take the request at all. */
export function candidatesAmong(
  gateway: Gateway,
  context: RequestContext,
  all: readonly RoutedTarget[],
  first: RoutedTarget,
): { targets: readonly RoutedTarget[]; isPinned: boolean } {
  const reachable = all.filter((target) => canTranslateTo(context.wire, target));
  const affinity = affinityOf(gateway, context, pinned(gateway, context));
  const bound = affinity
    ? targetsWithAffinity(gateway, context, { targets: reachable, affinity })
    : reachable;
  const targets = bound.length > 0 ? bound : reachable;
  return {
    targets: targets.length > 0 ? targets : [first],
    isPinned: affinity?.kind === 'encrypted_reasoning',
  };
}

export function whyOf({ tier, request }: RequestContext): string {
  return tier ? describeTier(tier, request.model) : 'as-asked';
}

/** The conversation stays with this target from now on. */
export function pin({ router }: Gateway, { conversation, tier }: RequestContext, target: Candidate): void {
  if (!conversation) return;
  router.stickiness.set(
    conversation.key,
    tier?.decision.applied ? { target, tier: tier.decision.tier } : { target },
  );
}

function pinned({ router }: Gateway, { conversation }: RequestContext): Candidate | undefined {
  if (!conversation || conversation.isNew) return undefined;
  return router.stickiness.get(conversation.key)?.target;
}

interface Candidates {
  targets: readonly RoutedTarget[];
  /** The attempts that failed. */
  tried: readonly Tried[];
  remainingMs?: number;
  isPinned?: boolean;
}

/** Where a request goes next. */
export function nextOf(gateway: Gateway, context: RequestContext, candidates: Candidates): NextAttempt {
  const { tried, remainingMs } = candidates;
  const ordering = orderingOf(gateway, context, candidates);
  const options: NextAttemptOptions = Object.assign(ordering, {
    larger: ordering.targets,
    budget: gateway.router.budget,
    tried,
    nowMs: gateway.clock.monotonic(),
  });
  if (remainingMs !== undefined) options.remainingMs = remainingMs;
  return nextAttempt(options);
}

/** What the order of a request's targets goes by. */
export function orderingOf(
  gateway: Gateway,
  context: RequestContext,
  { targets, isPinned = false }: Pick<Candidates, 'targets' | 'isPinned'>,
): OrderOptions & { health: Health } {
  const { health, random } = gateway.router;
  const sticky = pinned(gateway, context);
  return {
    targets: targets.map(({ candidate }) => candidate),
    health,
    random,
    capabilitiesOf,
    sticky,
    isPinned,
  };
}

export function targetAt(targets: readonly RoutedTarget[], candidate: Candidate): RoutedTarget {
  const found = targets.find((target) => target.candidate === candidate);
  if (!found) throw new Error(`${candidate.provider}/${candidate.model} is no target of the request`);
  return found;
}

function capabilitiesOf({ provider, model }: Candidate): Capabilities {
  const contextTokens = contextWindowOf(provider, model);
  return contextTokens === undefined ? {} : { contextTokens };
}

function leftAlone({ provider, model }: RoutedTarget, waitMs: number): GwError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new GwError(
    `${provider.name} has asked for no more requests for ${model} within the next ${seconds} s (rate limit). To try all the same: "service": {"route": false}`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'upstream_rate_limited',
      headers: { 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(waitMs)) },
    },
  );
}

/** The attempts of a request that have failed, in their order, and what they cost together. */
export interface AttemptHistory {
  tried: readonly Tried[];
  entries: readonly AttemptEntry[];
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  flags: number;
}

/** One attempt, as the request's record tells it. */
export interface AttemptEntry {
  provider: string;
  model: string;
  /** `ok`, an HTTP status or the class of the failure. */
  outcome: string;
  ms: number;
  cost_usd: number;
}
