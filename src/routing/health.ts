import type { Clock } from '../clock.ts';
import { costOf } from './balance.ts';
import { activeBlocks, type BlockReason, block, lift } from './blocks.ts';
import { abandonProbe, beginAttempt, blockedUntil } from './breaker.ts';
import { type Candidate, reachOf, targetId } from './candidate.ts';
import type { Failure } from './failure.ts';
import { type HealthSnapshot, restoreHealth, saveHealth } from './health-snapshot.ts';
import { type ResponseHeaders, usedUpMs } from './rate-limits.ts';
import { newTargetHealth, type TargetHealth, takeFailure, takeSuccess } from './target-health.ts';

export type Availability =
  | { ready: true }
  /** `hard`: a rate limit, before whose end a request would only be refused; the rest may be tried as a last resort. */
  | {
      ready: false;
      because: BlockReason;
      waitMs: number;
      hard: boolean;
    };

/** Permission for one attempt at a target. The holder reports how the attempt went and calls `ended` exactly once. */
export interface HealthPermit {
  /** The first content is there. */
  succeeded(ttfbMs: number, headers: ResponseHeaders): void;
  /** It failed, before or after its first content. */
  failed(failure: Failure, elapsedMs: number): void;
  ended(): void;
}

export interface Health {
  availabilityOf(target: Candidate): Availability;
  begin(target: Candidate): HealthPermit;
  /** What one more request would cost: time to first byte and queue, less for more weight. */
  costOf(target: Candidate): number;
  /** The usual time to first byte; undefined before the first answer. */
  expectedMs(target: Candidate): number | undefined;
  snapshot(): HealthSnapshot;
}

/** An answer's headers may say that a limit is used up for hours; by then other things will be known. */
const MAX_USED_UP_MS = 60_000;

/** Of an answer that says nothing about limits. */
export const NO_HEADERS: ResponseHeaders = Object.freeze({});

const READY: Availability = Object.freeze({ ready: true });

/** The health of every target, made of what attempts report; a snapshot of an earlier run is taken up. */
export function createHealth(options: {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  random: () => number;
  snapshot?: HealthSnapshot | undefined;
  /** Something has changed that a restart should not forget. */
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
    // Nearly always; each request asks.
    if (state.blocks.size === 0 && breaker.phase === 'closed') return READY;
    const nowMs = clock.monotonic();
    const blocks = activeBlocks(state.blocks, reachOf(target).ids, nowMs);
    const breakerUntilMs = blockedUntil(breaker, nowMs);
    const longest = blocks[0];
    if (!longest && breakerUntilMs === 0) return READY;
    const limit = blocks.find(({ because }) => because === 'rate_limit');
    // From its end on the target may be tried as a last resort, whatever else speaks against it.
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
        takeSuccess(health, ttfbMs, clock.monotonic());
        if (state.blocks.size > 0) lift(state.blocks, reachOf(target).ids, beganMs);
        const forMs = headers === NO_HEADERS ? undefined : usedUpMs(headers, clock.now());
        if (forMs !== undefined) blockFor(targetId(target), 'used_up', Math.min(forMs, MAX_USED_UP_MS));
      },
      failed(failure, elapsedMs) {
        const nowMs = clock.monotonic();
        const consequence = takeFailure(health, target, { failure, elapsedMs, nowMs, random });
        if (consequence) blockFor(consequence.id, consequence.because, consequence.forMs);
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

/** Clients can name any model of a provider, so there is no end of targets. */
const MAX_TARGETS = 2_000;

function forgetIdle(targets: Map<string, TargetHealth>): void {
  for (const [id, { breaker, load }] of targets) {
    if (targets.size < MAX_TARGETS) return;
    if (breaker.phase === 'closed' && load.inFlight === 0) targets.delete(id);
  }
}
