import type { Clock } from '../clock.ts';
import { costOf, type Load, newLoad, recordTtfb } from './balance.ts';
import { activeBlocks, type BlockReason, type Blocks, block, lift } from './blocks.ts';
import {
  abandonProbe,
  type Breaker,
  beginAttempt,
  blockedUntil,
  newBreaker,
  recordFailure,
  recordSuccess,
} from './breaker.ts';
import { accountOf, type Candidate, keyOf, reachOf, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';
import { exhaustedMs, type ResponseHeaders } from './rate-limits.ts';

export type Availability =
  | { ready: true }
  /** `hard`: a rate limit with a stated end. Requests are refused until then; other blocks allow a last resort. */
  | { ready: false; because: BlockReason; waitMs: number; hard: boolean };

/** Permission for one attempt at a target. The holder reports the outcome and must call `ended`. */
export interface HealthPermit {
  /** The first content has arrived. */
  succeeded(ttfbMs: number, headers: ResponseHeaders): void;
  /** The attempt failed, before or after its first content. */
  failed(failure: Failure, elapsedMs: number): void;
  /** Releases the permit. Later calls do nothing. */
  ended(): void;
}

export interface Health {
  availabilityOf(target: Candidate): Availability;
  begin(target: Candidate): HealthPermit;
  /** Cost of one more request, by time to first byte, queue and weight. */
  costOf(target: Candidate): number;
  /** Average time to first byte; undefined before the first response. */
  expectedMs(target: Candidate): number | undefined;
  snapshot(): HealthSnapshot;
}

/** Cap on blocks for an exhausted limit: headers may state hours, but newer responses are fresher. */
const MAX_EXHAUSTED_MS = 60_000;

/** For a response without rate limit headers. */
export const NO_HEADERS: ResponseHeaders = Object.freeze({});

const READY: Availability = Object.freeze({ ready: true });

/** Tracks the health of every target from the outcomes of attempts. Starts from the snapshot of an earlier run. */
export function createHealth(options: {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  random: () => number;
  snapshot?: HealthSnapshot | undefined;
  /** Called when something changes that should survive a restart. */
  onChange?: (() => void) | undefined;
}): Health {
  const { clock, random, onChange } = options;
  const now = () => ({ nowMs: clock.monotonic(), utcMs: clock.now() });
  const state = restoreHealth(options.snapshot, now());

  function healthOf(target: Candidate): TargetHealth {
    const id = targetId(target);
    let health = state.targets.get(id);
    if (!health) {
      if (state.targets.size >= MAX_TARGETS) forgetIdle(state.targets);
      health = newTargetHealth();
      state.targets.set(id, health);
    }
    return health;
  }

  function availabilityOf(target: Candidate): Availability {
    const { breaker } = healthOf(target);
    // Fast path for almost all requests.
    if (state.blocks.size === 0 && breaker.phase === 'closed') return READY;
    const nowMs = clock.monotonic();
    const blocks = activeBlocks(state.blocks, reachOf(target).ids, nowMs);
    const breakerUntilMs = blockedUntil(breaker, nowMs);
    const longest = blocks[0];
    if (!longest && breakerUntilMs === 0) return READY;
    const limit = blocks.find(({ because }) => because === 'rate_limit');
    // Takes precedence over longer blocks: once the limit ends, the target may be tried as a last resort.
    if (limit) return { ready: false, because: 'rate_limit', waitMs: limit.untilMs - nowMs, hard: true };
    const byBreaker = breakerUntilMs > (longest?.untilMs ?? 0);
    return {
      ready: false,
      because: byBreaker ? 'breaker' : (longest?.because ?? 'breaker'),
      waitMs: Math.max(breakerUntilMs, longest?.untilMs ?? 0) - nowMs,
      hard: false,
    };
  }

  function begin(target: Candidate): HealthPermit {
    const health = healthOf(target);
    const beganMs = clock.monotonic();
    let probing = beginAttempt(health.breaker, beganMs);
    let open = true;
    health.load.inFlight++;
    return {
      succeeded(ttfbMs, headers) {
        probing = false;
        const wasBroken = health.breaker.phase !== 'closed';
        applySuccess(health, ttfbMs, clock.monotonic());
        const isLifted = state.blocks.size > 0 && lift(state.blocks, reachOf(target).ids, beganMs);
        if (wasBroken || isLifted) onChange?.();
        const forMs = headers === NO_HEADERS ? undefined : exhaustedMs(headers, clock.now());
        if (forMs !== undefined) blockFor(targetId(target), 'used_up', Math.min(forMs, MAX_EXHAUSTED_MS));
      },
      failed(failure, elapsedMs) {
        const nowMs = clock.monotonic();
        const failureBlock = applyFailure(health, target, { failure, elapsedMs, nowMs, random });
        if (failureBlock) blockFor(failureBlock.id, failureBlock.because, failureBlock.forMs);
        onChange?.();
      },
      ended() {
        if (!open) return;
        open = false;
        health.load.inFlight--;
        if (probing) abandonProbe(health.breaker);
      },
    };
  }

  function blockFor(id: string, because: BlockReason, forMs: number): void {
    const sinceMs = clock.monotonic();
    block(state.blocks, id, { because, sinceMs, untilMs: sinceMs + forMs });
  }

  return {
    availabilityOf,
    begin,
    costOf: (target) => costOf(healthOf(target).load, target.weight, clock.monotonic()),
    expectedMs: (target) => healthOf(target).load.averageMs,
    snapshot: () => saveHealth(state, now()),
  };
}

/** Clients can name any model of a provider, so the number of targets is unbounded. */
const MAX_TARGETS = 2_000;

function forgetIdle(targets: Map<string, TargetHealth>): void {
  for (const [id, { breaker, load }] of targets) {
    if (targets.size < MAX_TARGETS) return;
    if (breaker.phase === 'closed' && load.inFlight === 0) targets.delete(id);
  }
}

/** Health that survives a restart. Times are stored as remaining durations, because the monotonic clock restarts. */
export interface HealthSnapshot {
  /** UTC milliseconds. */
  savedAtMs: number;
  blocks: { id: string; because: BlockReason; leftMs: number }[];
  targets: { id: string; openings: number; openLeftMs: number; averageMs?: number }[];
}

/** Whether a stored value has the shape of a snapshot; another version may have written it. */
export function isHealthSnapshot(value: unknown): value is HealthSnapshot {
  const { savedAtMs, blocks, targets } = (value ?? {}) as Partial<Record<keyof HealthSnapshot, unknown>>;
  return (
    typeof savedAtMs === 'number' &&
    isListWith(blocks, ['leftMs']) &&
    isListWith(targets, ['openings', 'openLeftMs'])
  );
}

function isListWith(list: unknown, numbers: readonly string[]): boolean {
  return (
    Array.isArray(list) &&
    list.every(
      (item) => typeof item?.id === 'string' && numbers.every((name) => typeof item[name] === 'number'),
    )
  );
}

interface HealthState {
  blocks: Blocks;
  targets: Map<string, TargetHealth>;
}

interface Now {
  nowMs: number;
  utcMs: number;
}

function saveHealth({ blocks, targets }: HealthState, { nowMs, utcMs }: Now): HealthSnapshot {
  return {
    savedAtMs: utcMs,
    blocks: [...blocks]
      .map(([id, { because, untilMs }]) => ({ id, because, leftMs: untilMs - nowMs }))
      .filter(({ leftMs }) => leftMs > 0),
    targets: [...targets].map(([id, { breaker, load }]) => ({
      id,
      openings: breaker.openings,
      openLeftMs: Math.max(0, breaker.openUntilMs - nowMs),
      ...(load.averageMs === undefined ? {} : { averageMs: load.averageMs }),
    })),
  };
}

function restoreHealth(snapshot: HealthSnapshot | undefined, { nowMs, utcMs }: Now): HealthState {
  const state: HealthState = { blocks: new Map(), targets: new Map() };
  if (!snapshot) return state;
  // A clock that was set back must not lengthen the remaining durations.
  const elapsedMs = Math.max(0, utcMs - snapshot.savedAtMs);
  for (const { id, because, leftMs } of snapshot.blocks) {
    state.blocks.set(id, { because, sinceMs: nowMs, untilMs: nowMs + leftMs - elapsedMs });
  }
  for (const { id, openings, openLeftMs, averageMs } of snapshot.targets) {
    const health = newTargetHealth();
    if (openings > 0)
      Object.assign(health.breaker, { phase: 'open', openings, openUntilMs: nowMs + openLeftMs - elapsedMs });
    if (averageMs !== undefined) recordTtfb(health.load, averageMs, nowMs);
    state.targets.set(id, health);
  }
  return state;
}

/** The health of one key and model. */
interface TargetHealth {
  breaker: Breaker;
  load: Load;
  /** Consecutive rate limits without a stated end. Each doubles the guessed wait. */
  unstatedLimits: number;
}

/** A block that a failure causes, and its duration. */
interface FailureBlock {
  id: string;
  because: BlockReason;
  forMs: number;
}

const QUOTA_MS = 600_000;
const AUTH_MS = 300_000;
const FIRST_GUESS_MS = 5_000;
const LONGEST_GUESS_MS = 60_000;

const newTargetHealth = (): TargetHealth => ({ breaker: newBreaker(), load: newLoad(), unstatedLimits: 0 });

function applySuccess(health: TargetHealth, ttfbMs: number, nowMs: number): void {
  recordSuccess(health.breaker, nowMs);
  recordTtfb(health.load, ttfbMs, nowMs);
  health.unstatedLimits = 0;
}

/** Records a failed attempt in the target's health. Returns the block that it causes, if any. */
function applyFailure(
  health: TargetHealth,
  target: Candidate,
  attempt: { failure: Failure; elapsedMs: number; nowMs: number; random: () => number },
): FailureBlock | undefined {
  const { failure, elapsedMs, nowMs, random } = attempt;
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
