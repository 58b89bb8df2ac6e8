import { GwError } from '../../errors.ts';
import type { NanoUsd } from '../../money.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { Candidate } from '../../routing/candidate.ts';
import type { Health } from '../../routing/health.ts';
import type { Capabilities } from '../../routing/needs.ts';
import {
  countRequest,
  type NextAttempt,
  type NextAttemptOptions,
  nextAttempt,
  type OrderOptions,
  type Tried,
} from '../../routing/next-attempt.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import { affinityOf, targetsWithAffinity } from './affinity.ts';
import { describeFallback, describeTier } from './describe-tier.ts';
import { canTranslateTo } from './translate.ts';

type RouteParts = Pick<Gateway, 'clock' | 'router' | 'responsesSupport'>;
type RouterPart = Pick<Gateway, 'router'>;

/** The target of a request, the alternatives, and why it was chosen. */
export interface Route {
  /** The request before translation for a target. */
  context: RequestContext;
  /** The target of the current attempt. */
  target: RoutedTarget;
  /** The target of the first attempt. */
  first: RoutedTarget;
  /** All targets that may serve the request, by priority. */
  targets: readonly RoutedTarget[];
  /** Several targets serve the model, even if only one of them may serve this request. */
  hasOthers: boolean;
  /** The target is blocked, but there is no better one. */
  lastResort: boolean;
  /** For the header `x-service-route`. */
  why: string;
  /** The failed attempts; undefined before the first failure. */
  history?: AttemptHistory;
}

/**
 * Chooses the healthy target of the best priority; among equals, the better of two by time to first byte and requests in
 * flight. Throws GwError 429 if every one of several targets is rate limited.
 */
export function route(gateway: RouteParts, context: RequestContext, targets: readonly RoutedTarget[]): Route {
  const [first] = targets;
  if (!first) throw new Error(`no target for ${context.request.model}`);
  if (context.options.route === false) return routeTo(context, first, [first], 'off');
  if (targets.length > 1) return chooseAmong(gateway, context, targets, first);
  // A single target gets the request even while it is rate limited: the client has been told when to retry.
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

/** The route to another target, as no budget has room at this one; undefined if none is left that can be asked now. */
export function routeElsewhere(gateway: RouteParts, route: Route): Route | undefined {
  const { context } = route;
  const targets = route.targets.filter((target) => target !== route.target);
  if (targets.length === 0) return undefined;
  const next = nextOf(gateway, context, { targets, tried: [] });
  if (next.kind !== 'attempt') return undefined;
  pin(gateway, context, next.target);
  const target = targetAt(targets, next.target);
  return { ...route, target, first: target, targets, lastResort: next.lastResort };
}

function chooseAmong(
  gateway: RouteParts,
  context: RequestContext,
  all: readonly RoutedTarget[],
  first: RoutedTarget,
): Route {
  const { targets, isPinned } = candidatesAmong(gateway, context, all, first);
  const next = nextOf(gateway, context, { targets, isPinned, tried: [] });
  if (next.kind === 'wait') throw rateLimitedError(targetAt(targets, next.target), next.waitMs);
  if (next.kind === 'stop') throw new Error(`no target for ${context.request.model}: ${next.because}`);
  pin(gateway, context, next.target);
  const route = routeTo(context, targetAt(targets, next.target), targets, whyOf(context));
  route.hasOthers = true;
  route.lastResort = next.lastResort;
  return route;
}

/** The targets that can serve the request, whatever their health. */
export function candidatesAmong(
  gateway: Pick<Gateway, 'router' | 'responsesSupport'>,
  context: RequestContext,
  all: readonly RoutedTarget[],
  first: RoutedTarget,
): { targets: readonly RoutedTarget[]; isPinned: boolean } {
  const reachable = all.filter((target) => canTranslateTo(context.wire, target));
  const affinity = affinityOf(gateway, context, stickyTarget(gateway, context));
  const allowed = affinity
    ? targetsWithAffinity(gateway, context, { targets: reachable, affinity })
    : reachable;
  const targets = allowed.length > 0 ? allowed : reachable;
  return {
    targets: targets.length > 0 ? targets : [first],
    isPinned: affinity?.kind === 'encrypted_reasoning',
  };
}

/** Why a request goes to its first target, for the header `x-service-route`. */
export function whyOf({ tier, request, fallback }: RequestContext): string {
  if (fallback) return describeFallback(fallback, request.model);
  return tier ? describeTier(tier, request.model) : 'as-asked';
}

/** Keeps the conversation at this target from now on. */
export function pin({ router }: RouterPart, { conversation, tier }: RequestContext, target: Candidate): void {
  if (!conversation) return;
  router.stickiness.set(
    conversation.key,
    tier?.decision.applied ? { target, tier: tier.decision.tier } : { target },
  );
}

/** The target that served the request's conversation last. */
function stickyTarget({ router }: RouterPart, { conversation }: RequestContext): Candidate | undefined {
  if (!conversation || conversation.isNew) return undefined;
  return router.stickiness.get(conversation.key)?.target;
}

interface Candidates {
  targets: readonly RoutedTarget[];
  /** The failed attempts. */
  tried: readonly Tried[];
  /** Time until the request's deadline. */
  remainingMs?: number;
  isPinned?: boolean;
}

/** Decides the next attempt of a request. */
export function nextOf(
  gateway: Pick<Gateway, 'clock' | 'router'>,
  context: RequestContext,
  candidates: Candidates,
): NextAttempt {
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

/** The input for ordering a request's targets. */
export function orderingOf(
  gateway: Pick<Gateway, 'router'>,
  context: RequestContext,
  { targets, isPinned = false }: Pick<Candidates, 'targets' | 'isPinned'>,
): OrderOptions & { health: Health } {
  const { health, random } = gateway.router;
  const sticky = stickyTarget(gateway, context);
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
  const target = targets.find((each) => each.candidate === candidate);
  if (!target) throw new Error(`${candidate.provider}/${candidate.model} is not a target of the request`);
  return target;
}

function capabilitiesOf({ provider, model }: Candidate): Capabilities {
  const contextTokens = contextWindowOf(provider, model);
  return contextTokens === undefined ? {} : { contextTokens };
}

function rateLimitedError({ provider, model }: RoutedTarget, waitMs: number): GwError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new GwError(
    `${provider.name} has rate limited ${model} and accepts requests again in ${seconds} s. To send the request anyway: "service": {"route": false}`,
    {
      status: 429,
      type: 'rate_limit_error',
      code: 'upstream_rate_limited',
      headers: { 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(waitMs)) },
    },
  );
}

/** The failed attempts of a request, in order, and their total usage and cost. */
export interface AttemptHistory {
  tried: readonly Tried[];
  entries: readonly AttemptEntry[];
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  flags: number;
}

/** One attempt in the request record. */
export interface AttemptEntry {
  provider: string;
  model: string;
  /** `ok`, an HTTP status, or the class of the failure. */
  outcome: string;
  ms: number;
  cost_usd: number;
}

/** The makers of models, by the model's name. */
const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^(gpt-|chatgpt-|o\d)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'google'],
  [/^deepseek-/, 'deepseek'],
  [/^grok-/, 'xai'],
];

/**
 * The context window of a model in tokens, if it is known. At a provider that the user added, such as a second region,
 * a model is recognized by its maker's name for it; that is enough to choose a target, but not to bound a cost.
 */
function contextWindowOf(provider: string, model: string): number | undefined {
  const contextTokens = modelLimits(provider, model)?.contextTokens;
  if (contextTokens !== undefined) return contextTokens;
  const maker = MAKERS.find(([pattern]) => pattern.test(model))?.[1];
  return maker === undefined ? undefined : modelLimits(maker, model)?.contextTokens;
}
