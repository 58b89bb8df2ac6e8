import { pickOfTwo } from './balance.ts';
import { type Candidate, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';
import type { Availability, Health } from './health.ts';
import { type Capabilities, lackOf, type Needs } from './needs.ts';

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

const stop = (because: StopReason): NextAttempt => ({ kind: 'stop', because });

/**
 * Limits retries, so that an outage does not multiply the traffic: a fifth of the requests of the last 10 seconds plus
 * 10 per second, as in Finagle's RetryBudget.
 */
export interface RetryBudget {
  /** One entry for each second with traffic, oldest first. */
  seconds: { second: number; requests: number; retries: number }[];
}

const LIFE_SECONDS = 10;
const SHARE = 0.2;
const FREE_PER_SECOND = 10;

export const newRetryBudget = (): RetryBudget => ({ seconds: [] });

/** Counts a request's first attempt. */
export function countRequest(budget: RetryBudget, nowMs: number): void {
  currentSecond(budget, nowMs).requests++;
}

/** Takes one retry from the budget; false if there is none left. */
export function takeRetry(budget: RetryBudget, nowMs: number): boolean {
  const current = currentSecond(budget, nowMs);
  let requests = 0;
  let retries = 0;
  for (const second of budget.seconds) {
    requests += second.requests;
    retries += second.retries;
  }
  if (retries + 1 > SHARE * requests + FREE_PER_SECOND * LIFE_SECONDS) return false;
  current.retries++;
  return true;
}

function currentSecond(budget: RetryBudget, nowMs: number): RetryBudget['seconds'][number] {
  const second = Math.floor(nowMs / 1_000);
  const latest = budget.seconds.at(-1);
  if (latest?.second === second) return latest;
  budget.seconds = budget.seconds.filter((entry) => entry.second > second - LIFE_SECONDS);
  const current = { second, requests: 0, retries: 0 };
  budget.seconds.push(current);
  return current;
}

export interface OrderOptions {
  targets: readonly Candidate[];
  health: Pick<Health, 'availabilityOf' | 'costOf'>;
  random: () => number;
  needs?: Needs;
  capabilitiesOf?: (target: Candidate) => Capabilities;
  /** The candidate that served this conversation last. */
  sticky?: Candidate | undefined;
  /** Puts the sticky candidate before better priorities: only it can read the conversation's encrypted parts. */
  isPinned?: boolean;
}

/** A request's candidates, grouped by current availability. */
export interface Order {
  /** Available, in the order of attempts. */
  ready: Candidate[];
  /** Currently blocked, soonest recovery first. */
  blocked: { target: Candidate; availability: Availability & { ready: false } }[];
  /** Lack a capability that the request needs. */
  unfit: { target: Candidate; lacks: (keyof Needs)[] }[];
}

/**
 * Orders candidates by priority. Within a priority the conversation's sticky candidate comes first, then the others by
 * repeated power of two choices. Health and priority take precedence over stickiness.
 */
export function orderTargets(options: OrderOptions): Order {
  const { targets, health, needs = {}, capabilitiesOf = () => ({}) } = options;
  const order: Order = { ready: [], blocked: [], unfit: [] };
  const ready: Candidate[] = [];
  for (const target of targets) {
    const lacks = lackOf(capabilitiesOf(target), needs);
    const availability = health.availabilityOf(target);
    if (lacks.length > 0) order.unfit.push({ target, lacks });
    else if (availability.ready) ready.push(target);
    else order.blocked.push({ target, availability });
  }
  order.blocked.sort((a, b) => a.availability.waitMs - b.availability.waitMs);
  order.ready = rank(ready, options);
  return order;
}

function rank(
  targets: readonly Candidate[],
  { sticky, isPinned, health, random }: OrderOptions,
): Candidate[] {
  const stickyId = sticky && targetId(sticky);
  const ranked = isPinned ? targets.filter((target) => targetId(target) === stickyId) : [];
  let left = targets.filter((target) => !ranked.includes(target));
  while (left.length > 0) {
    const first = Math.min(...left.map(({ priority }) => priority));
    const peers = left.filter(({ priority }) => priority === first);
    const next =
      peers.find((target) => targetId(target) === stickyId) ??
      pickOfTwo(peers, { weightOf: ({ weight }) => weight, cost: health.costOf, random });
    if (!next) break;
    ranked.push(next);
    left = left.filter((target) => target !== next);
  }
  return ranked;
}
