import type { Clock } from '../clock.ts';
import { costOf } from './balance.ts';
import { activeBlocks, type BlockReason, block, lift } from './blocks.ts';
import { abandonProbe, beginAttempt, blockedUntil } from './breaker.ts';
import { type Candidate, reachOf, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';
import { type HealthSnapshot, restoreHealth, saveHealth } from './health-snapshot.ts';
import { exhaustedMs, type ResponseHeaders } from './rate-limits.ts';
import { applyFailure, applySuccess, newTargetHealth, type TargetHealth } from './target-health.ts';

export type Availability =
  | { ready: true }
  /** `hard`: a rate limit with a stated end. Requests are refused until then; other blocks allow a last resort. */
  | {
      ready: false;
      because: BlockReason;
      waitMs: number;
      hard: boolean;
    };

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
        applySuccess(health, ttfbMs, clock.monotonic());
        if (state.blocks.size > 0) lift(state.blocks, reachOf(target).ids, beganMs);
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
