import type { Candidate } from '../../src/routing/candidate.ts';
import { classify } from '../../src/routing/classify.ts';
import type { UpstreamOutcome } from '../../src/routing/failure.ts';
import { createHealth, type Health } from '../../src/routing/health.ts';
import {
  type NextAttemptOptions,
  newRetryBudget,
  nextAttempt,
  type StopReason,
  type Tried,
} from '../../src/routing/next-attempt.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { seededRandom } from './seeded-random.ts';

/** What a scripted upstream does with a request. */
export type Scripted = { ms: number; outcome: 'ok' | UpstreamOutcome; headers?: Record<string, string> };

export interface Served {
  attempts: Candidate[];
  outcomes: Scripted['outcome'][];
  startMs: number;
  endMs: number;
  end: 'ok' | 'wait' | StopReason;
}

export interface Simulation {
  clock: VirtualClock;
  health: Health;
  served: Served[];
  /** Every request that reached an upstream. */
  hits: { target: Candidate; atMs: number; endMs: number; outcome: Scripted['outcome'] }[];
  /** Sends one request now; its attempts run as the clock advances. */
  send(): void;
  /** Sends `count` requests, one every `everyMs`, and lets all of them end. */
  traffic(count: number, everyMs: number): void;
  hitsOn(target: Candidate, fromMs?: number, toMs?: number): number;
}

type Options = Partial<Pick<NextAttemptOptions, 'larger' | 'capabilitiesOf' | 'needs' | 'sticky'>> & {
  targets: Candidate[];
  upstream(target: Candidate, nowMs: number): Scripted;
  seed?: number;
  clock?: VirtualClock;
  health?: Health;
};

/** Requests through `nextAttempt`, health and scripted upstreams, on a virtual clock. */
export function simulate({ targets, upstream, seed = 1, ...rest }: Options): Simulation {
  const { clock = createVirtualClock(), ...options } = rest;
  const random = seededRandom(seed);
  const health = options.health ?? createHealth({ clock, random });
  const budget = newRetryBudget();
  const served: Served[] = [];
  const hits: Simulation['hits'] = [];

  function step(request: Served, tried: Tried[]): void {
    const nowMs = clock.monotonic();
    const next = nextAttempt({ ...options, targets, health, random, budget, nowMs, tried });
    if (next.kind !== 'attempt') {
      Object.assign(request, { endMs: nowMs, end: next.kind === 'stop' ? next.because : 'wait' });
      return;
    }
    const { target, lastResort } = next;
    request.attempts.push(target);
    const permit = health.begin(target);
    const { ms, outcome, headers = {} } = upstream(target, nowMs);
    hits.push({ target, atMs: nowMs, endMs: nowMs + ms, outcome });
    request.outcomes.push(outcome);
    clock.after(ms, () => {
      if (outcome === 'ok') {
        permit.succeeded(ms, headers);
        permit.ended();
        Object.assign(request, { endMs: clock.monotonic(), end: 'ok' });
        return;
      }
      const failure = classify(outcome, clock.now());
      permit.failed(failure, ms);
      permit.ended();
      step(request, [...tried, { target, failure, lastResort }]);
    });
  }

  const send = () => {
    const request: Served = {
      attempts: [],
      outcomes: [],
      startMs: clock.monotonic(),
      endMs: -1,
      end: 'none_left',
    };
    served.push(request);
    step(request, []);
  };
  return {
    clock,
    health,
    served,
    hits,
    send,
    traffic(count, everyMs) {
      for (let i = 0; i < count; i++) {
        send();
        clock.advanceNow(everyMs);
      }
      clock.advanceNow(600_000);
    },
    hitsOn: (target, fromMs = 0, toMs = Number.POSITIVE_INFINITY) =>
      hits.filter((hit) => hit.target === target && hit.atMs >= fromMs && hit.atMs < toMs).length,
  };
}

export function target(provider: string, model = 'm', more: Partial<Candidate> = {}): Candidate {
  return { provider, model, priority: 0, weight: 1, ...more };
}

export function refusal(
  status: number,
  headers: Record<string, string> = {},
  body: unknown = {},
): UpstreamOutcome {
  return { kind: 'response', status, headers, body };
}
