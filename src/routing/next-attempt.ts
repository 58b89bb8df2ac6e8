import { type Candidate, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';
import type { Health } from './health.ts';
import { type Order, type OrderOptions, orderTargets } from './order.ts';
import { countRequest, type RetryBudget, takeRetry } from './retry-budget.ts';

/** A failed attempt of this request. */
export interface Tried {
  target: Candidate;
  failure: Failure;
  /** The target was blocked, but no better one was available. */
  lastResort: boolean;
}

export interface NextAttemptOptions extends Omit<OrderOptions, 'health'> {
  health: Health;
  tried: readonly Tried[];
  budget: RetryBudget;
  nowMs: number;
  /** Time until the request's deadline. */
  remainingMs?: number;
  /** Candidates with a larger context window, for the one retry after a context overflow. */
  larger?: readonly Candidate[];
}

export type NextAttempt =
  | { kind: 'attempt'; target: Candidate; lastResort: boolean }
  /** Every target is rate limited; the first one recovers after `waitMs`. */
  | { kind: 'wait'; target: Candidate; waitMs: number }
  | { kind: 'stop'; because: StopReason };

/** `final`: any other target would fail the same way. `unfit`: no target can serve the request. */
export type StopReason = 'final' | 'attempts' | 'none_left' | 'retry_budget' | 'deadline' | 'unfit';

const MAX_ATTEMPTS = 3;

/**
 * Decides the next step of a request by the current health. A request has up to three attempts, each at another target.
 * Retries need room in the retry budget and time before the deadline.
 */
export function nextAttempt(options: NextAttemptOptions): NextAttempt {
  const last = options.tried.at(-1);
  if (!last) return firstAttempt(options);
  if (last.failure.next === 'stop') return stop('final');
  if (options.tried.length >= MAX_ATTEMPTS) return stop('attempts');
  const overflowed = options.tried.filter(({ failure }) => failure.next === 'larger_context');
  if (overflowed.length > 1) return stop('final');
  if (overflowed[0]) return jumpToLarger(options, overflowed[0].target);
  return retry(options, orderTargets({ ...options, targets: untried(options.targets, options.tried) }));
}

function firstAttempt(options: NextAttemptOptions): NextAttempt {
  const order = orderTargets(options);
  const [target] = order.ready;
  const next: NextAttempt = target ? { kind: 'attempt', target, lastResort: false } : failOpen(order);
  if (next.kind === 'attempt') countRequest(options.budget, options.nowMs);
  return next;
}

/**
 * If every target is blocked, tries one without a hard block as a last resort. A retry skips accounts without credit
 * and rejected keys.
 */
function failOpen({ blocked }: Order, isRetry = false): NextAttempt {
  const soft = blocked.find(
    ({ availability: { hard, because } }) =>
      !hard && !(isRetry && (because === 'quota' || because === 'auth')),
  );
  if (soft) return { kind: 'attempt', target: soft.target, lastResort: true };
  const [soonest] = blocked;
  if (!soonest) return stop('unfit');
  return { kind: 'wait', target: soonest.target, waitMs: soonest.availability.waitMs };
}

function retry(options: NextAttemptOptions, order: Order): NextAttempt {
  const { tried, health, remainingMs = Number.POSITIVE_INFINITY } = options;
  const inTime = (target: Candidate) => remainingMs > 0 && (health.expectedMs(target) ?? 0) <= remainingMs;
  const target = order.ready.find(inTime);
  if (target) return withinBudget(options, { kind: 'attempt', target, lastResort: false });
  if (order.ready.length > 0) return stop('deadline');
  // One last resort per request, so that attempts don't multiply in a total outage.
  const next = tried.some(({ lastResort }) => lastResort) ? stop('none_left') : failOpen(order, true);
  if (next.kind === 'attempt') return inTime(next.target) ? withinBudget(options, next) : stop('deadline');
  return stop('none_left');
}

/** After a context overflow, only models with a larger context window are tried. */
function jumpToLarger(options: NextAttemptOptions, from: Candidate): NextAttempt {
  const { tried, larger = [], capabilitiesOf } = options;
  const room = (target: Candidate) => capabilitiesOf?.(target).contextTokens ?? 0;
  const targets = untried(larger, tried).filter((target) => room(target) > room(from));
  return targets.length > 0 ? retry(options, orderTargets({ ...options, targets })) : stop('final');
}

function withinBudget({ budget, nowMs }: NextAttemptOptions, attempt: NextAttempt): NextAttempt {
  return takeRetry(budget, nowMs) ? attempt : stop('retry_budget');
}

function untried(targets: readonly Candidate[], tried: readonly Tried[]): Candidate[] {
  const done = new Set(tried.map(({ target }) => targetId(target)));
  return targets.filter((target) => !done.has(targetId(target)));
}

function stop(because: StopReason): NextAttempt {
  return { kind: 'stop', because };
}
