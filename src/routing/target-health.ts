import { feed, type Load, newLoad } from './balance.ts';
import type { BlockReason } from './blocks.ts';
import { type Breaker, newBreaker, recordFailure, recordSuccess } from './breaker.ts';
import { accountOf, type Candidate, keyOf, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';

/** What is known of one key and model. */
export interface TargetHealth {
  breaker: Breaker;
  load: Load;
  /** Refusals in a row whose end was not told: each doubles the guess. */
  untoldLimits: number;
}

/** Whom a failure blocks, and for how long. */
export interface Consequence {
  id: string;
  because: BlockReason;
  forMs: number;
}

const QUOTA_MS = 600_000;
const AUTH_MS = 300_000;
const FIRST_GUESS_MS = 5_000;
const LONGEST_GUESS_MS = 60_000;

export function newTargetHealth(): TargetHealth {
  return { breaker: newBreaker(), load: newLoad(), untoldLimits: 0 };
}

/** Takes an answer into the target's health. */
export function takeSuccess(health: TargetHealth, ttfbMs: number, nowMs: number): void {
  recordSuccess(health.breaker, nowMs);
  feed(health.load, ttfbMs, nowMs);
  health.untoldLimits = 0;
}

/** Takes a failed attempt into the target's health; answers what it means for others. */
export function takeFailure(
  health: TargetHealth,
  target: Candidate,
  {
    failure,
    elapsedMs,
    nowMs,
    random,
  }: { failure: Failure; elapsedMs: number; nowMs: number; random: () => number },
): Consequence | undefined {
  const waitMs = failure.cooldownMs;
  switch (failure.class) {
    case 'client_abort':
      return undefined;
    case 'invalid_request':
    case 'content_filter':
    case 'context_overflow':
    case 'not_its_own':
      // The request was at fault; that the upstream said so shows that it is well.
      recordSuccess(health.breaker, nowMs);
      return undefined;
    case 'quota':
      return { id: accountOf(target), because: 'quota', forMs: Math.max(QUOTA_MS, waitMs ?? 0) };
    case 'auth':
      return { id: keyOf(target), because: 'auth', forMs: AUTH_MS };
    case 'rate_limit':
      if (waitMs) return { id: targetId(target), because: 'rate_limit', forMs: waitMs };
      return { id: targetId(target), because: 'guess', forMs: guessLimit(health, waitMs, random) };
    case 'timeout':
      feed(health.load, elapsedMs, nowMs);
      recordFailure(health.breaker, nowMs, { waitMs, random });
      return undefined;
    case 'server':
    case 'network':
      recordFailure(health.breaker, nowMs, { waitMs, random });
      return waitMs ? { id: targetId(target), because: 'overload', forMs: waitMs } : undefined;
  }
}

/** Where the end of a rate limit is not told, or told to be now: now is believed once. */
function guessLimit(health: TargetHealth, toldMs: number | undefined, random: () => number): number {
  const doublings = toldMs === undefined ? health.untoldLimits : health.untoldLimits - 1;
  health.untoldLimits++;
  if (doublings < 0) return 0;
  return Math.min(LONGEST_GUESS_MS, FIRST_GUESS_MS * 2 ** doublings) * (0.5 + random() / 2);
}
