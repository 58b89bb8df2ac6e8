import type { Clock } from '../clock.ts';
import { costOf } from './balance.ts';
import { activeBlocks, type BlockReason, block, lift } from './blocks.ts';
import { abandonProbe, beginAttempt, blockedUntil } from './breaker.ts';
import type { Failure } from './classify.ts';
import { type HealthSnapshot, restoreHealth, saveHealth } from './health-snapshot.ts';
import { type ResponseHeaders, usedUpMs } from './rate-limits.ts';
import { accountOf, keyOf, type Target, targetId } from './target.ts';
import { newTargetHealth, type TargetHealth, takeFailure, takeSuccess } from './target-health.ts';

export type Availability =
  | { ready: true }
  /** `hard`: a rate limit, before whose end a request would only be refused; the rest may be tried as a last resort. */
  | { ready: false; because: BlockReason; waitMs: number; hard: boolean };

/** One attempt at a target. Whoever begins it ends it; what it reports before that is up to the upstream. */
export interface Attempt {
  /** The first content is there. */
  succeeded(ttfbMs: number, headers: ResponseHeaders): void;
  /** It failed, before or after its first content. */
  failed(failure: Failure, elapsedMs: number): void;
  ended(): void;
}

export interface Health {
  availabilityOf(target: Target): Availability;
  begin(target: Target): Attempt;
  /** What one more request would cost: time to first byte and queue, less for more weight. */
  costOf(target: Target): number;
  /** The usual time to first byte; undefined before the first answer. */
  expectedMs(target: Target): number | undefined;
  snapshot(): HealthSnapshot;
}

/** An answer's headers may say that a limit is used up for hours; by then other things will be known. */
const MAX_USED_UP_MS = 60_000;

/** The health of every target, made of what attempts report; a snapshot of an earlier run is taken up. */
export function createHealth(options: {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  random: () => number;
  snapshot?: HealthSnapshot;
}): Health {
  const { clock, random } = options;
  const now = () => ({ nowMs: clock.monotonic(), utcMs: clock.now() });
  const state = restoreHealth(options.snapshot, now());

  function healthOf(target: Target): TargetHealth {
    const id = targetId(target);
    const health = state.targets.get(id) ?? newTargetHealth();
    state.targets.set(id, health);
    return health;
  }

  function availabilityOf(target: Target): Availability {
    const { nowMs } = now();
    const blocks = activeBlocks(state.blocks, reachOf(target), nowMs);
    const breakerUntilMs = blockedUntil(healthOf(target).breaker, nowMs);
    const longest = blocks[0];
    if (!longest && breakerUntilMs === 0) return { ready: true };
    const byBreaker = breakerUntilMs > (longest?.untilMs ?? 0);
    return {
      ready: false,
      because: byBreaker ? 'breaker' : (longest?.because ?? 'breaker'),
      waitMs: Math.max(breakerUntilMs, longest?.untilMs ?? 0) - nowMs,
      hard: blocks.some(({ because }) => because === 'rate_limit'),
    };
  }

  function begin(target: Target): Attempt {
    const health = healthOf(target);
    const beganMs = clock.monotonic();
    let probing = beginAttempt(health.breaker, beganMs);
    let open = true;
    health.load.inFlight++;
    return {
      succeeded(ttfbMs, headers) {
        probing = false;
        takeSuccess(health, ttfbMs, clock.monotonic());
        lift(state.blocks, reachOf(target), beganMs);
        const forMs = usedUpMs(headers, clock.now());
        if (forMs !== undefined) blockFor(targetId(target), 'used_up', Math.min(forMs, MAX_USED_UP_MS));
      },
      failed(failure, elapsedMs) {
        const nowMs = clock.monotonic();
        const consequence = takeFailure(health, target, { failure, elapsedMs, nowMs, random });
        if (consequence) blockFor(consequence.id, consequence.because, consequence.forMs);
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

/** Everything whose block blocks this target. */
function reachOf(target: Target): string[] {
  return [accountOf(target), keyOf(target), targetId(target)];
}
