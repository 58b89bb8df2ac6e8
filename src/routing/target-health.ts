import { type Load, newLoad, recordTtfb } from './balance.ts';
import type { BlockReason } from './blocks.ts';
import { type Breaker, newBreaker, recordFailure, recordSuccess } from './breaker.ts';
import { accountOf, type Candidate, keyOf, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';

/** The health of one key and model. */
export interface TargetHealth {
  breaker: Breaker;
  load: Load;
  /** Consecutive rate limits without a stated end. Each doubles the guessed wait. */
  unstatedLimits: number;
}

/** A block that a failure causes, and its duration. */
export interface FailureBlock {
  id: string;
  because: BlockReason;
  forMs: number;
}

const QUOTA_MS = 600_000;
const AUTH_MS = 300_000;
const FIRST_GUESS_MS = 5_000;
const LONGEST_GUESS_MS = 60_000;

export function newTargetHealth(): TargetHealth {
  return { breaker: newBreaker(), load: newLoad(), unstatedLimits: 0 };
}

export function applySuccess(health: TargetHealth, ttfbMs: number, nowMs: number): void {
  recordSuccess(health.breaker, nowMs);
  recordTtfb(health.load, ttfbMs, nowMs);
  health.unstatedLimits = 0;
}

/** Records a failed attempt in the target's health. Returns the block that it causes, if any. */
export function applyFailure(
  health: TargetHealth,
  target: Candidate,
  {
    failure,
    elapsedMs,
    nowMs,
    random,
  }: { failure: Failure; elapsedMs: number; nowMs: number; random: () => number },
): FailureBlock | undefined {
  const waitMs = failure.cooldownMs;
  switch (failure.class) {
    case 'client_abort':
      return undefined;
    case 'invalid_request':
    case 'content_filter':
    case 'context_overflow':
    case 'not_its_own':
      // The request was at fault. Such an error shows that the upstream is healthy.
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
      recordTtfb(health.load, elapsedMs, nowMs);
      recordFailure(health.breaker, nowMs, { waitMs, random });
      return undefined;
    case 'server':
    case 'network':
      recordFailure(health.breaker, nowMs, { waitMs, random });
      return waitMs ? { id: targetId(target), because: 'overload', forMs: waitMs } : undefined;
  }
}

/** Guesses the wait for a rate limit without a stated end. A stated wait of 0 is believed once. */
function guessLimit(health: TargetHealth, statedMs: number | undefined, random: () => number): number {
  const doublings = statedMs === undefined ? health.unstatedLimits : health.unstatedLimits - 1;
  health.unstatedLimits++;
  if (doublings < 0) return 0;
  return Math.min(LONGEST_GUESS_MS, FIRST_GUESS_MS * 2 ** doublings) * (0.5 + random() / 2);
}
