import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { targetId } from '../../src/routing/candidate.ts';
import { classify } from '../../src/routing/classify.ts';
import { createHealth } from '../../src/routing/health.ts';
import { newRetryBudget, nextAttempt } from '../../src/routing/next-attempt.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { seededRandom } from './seeded-random.ts';
import { refusal, type Scripted, simulate, target } from './simulation.ts';

const RUNS = Number(process.env.GW_FUZZ_RUNS ?? 2_000);

const outcome: fc.Arbitrary<Scripted> = fc.record({
  ms: fc.nat(5_000),
  outcome: fc.oneof(
    { weight: 4, arbitrary: fc.constant('ok' as const) },
    fc
      .constantFrom(400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)
      .map((status) => refusal(status)),
    fc.constantFrom('0', '2', '30', '-1', 'x', '3600').map((value) => refusal(429, { 'retry-after': value })),
    fc.constant(refusal(400, {}, { error: { code: 'context_length_exceeded', message: '' } })),
    fc
      .constantFrom('ECONNRESET', 'UND_ERR_HEADERS_TIMEOUT')
      .map((code) => ({ kind: 'socket' as const, code })),
    fc.constant({ kind: 'empty' as const }),
    fc.constant({ kind: 'client_abort' as const }),
  ),
});

describe('nextAttempt()', () => {
  test('keeps its promises under any script of faults', () => {
    const targets = [
      target('a', 'm', { keyId: '1' }),
      target('a', 'm', { keyId: '2' }),
      target('b', 'm', { priority: 1 }),
      target('c', 'small', { priority: 1, weight: 3 }),
    ];
    const larger = [target('c', 'large')];
    const capabilitiesOf = ({ model }: { model: string }) => ({
      contextTokens: model === 'large' ? 128_000 : 8_000,
    });
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1, maxLength: 60 }),
        fc.array(fc.nat(3_000), { minLength: 1, maxLength: 25 }),
        fc.nat(),
        (script, gaps, seed) => {
          let at = 0;
          const upstream = () => script[at++ % script.length] ?? { ms: 0, outcome: 'ok' as const };
          const simulation = simulate({ targets, larger, capabilitiesOf, upstream, seed });
          for (const gap of gaps) {
            simulation.send();
            simulation.clock.advanceNow(gap);
          }
          simulation.clock.advanceNow(60_000);
          for (const { attempts, outcomes, endMs } of simulation.served) {
            expect(endMs).toBeGreaterThanOrEqual(0);
            expect(attempts.length).toBeLessThanOrEqual(3);
            expect(new Set(attempts.map(targetId)).size).toBe(attempts.length);
            const final = outcomes.findIndex((one) => one !== 'ok' && classify(one, 0).next === 'stop');
            if (final >= 0) expect(outcomes.length).toBe(final + 1);
            const jumps = outcomes
              .slice(0, -1)
              .filter((one) => one !== 'ok' && classify(one, 0).class === 'context_overflow');
            expect(jumps.length).toBeLessThanOrEqual(1);
          }
          for (const { target: limited, endMs, outcome: refused } of simulation.hits) {
            const failure = refused === 'ok' ? undefined : classify(refused, 0);
            if (failure?.class !== 'rate_limit' || !failure.cooldownMs) continue;
            expect(simulation.hitsOn(limited, endMs + 1, endMs + failure.cooldownMs)).toBe(0);
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  const base = () => {
    const clock = createVirtualClock();
    const random = seededRandom(1);
    return { random, health: createHealth({ clock, random }), budget: newRetryBudget(), nowMs: 0 };
  };
  const serverError = { class: 'server', scope: 'target', next: 'elsewhere' } as const;

  test('does not begin what cannot end before the deadline', () => {
    const [fast, slow] = [target('fast'), target('slow')];
    const options = { ...base(), targets: [fast, slow] };
    const permit = options.health.begin(slow);
    permit.succeeded(5_000, {});
    permit.ended();
    const tried = [{ target: fast, failure: serverError, lastResort: false }];
    expect(nextAttempt({ ...options, tried, remainingMs: 1_000 })).toEqual({
      kind: 'stop',
      because: 'deadline',
    });
    expect(nextAttempt({ ...options, tried, remainingMs: 6_000 })).toMatchObject({
      kind: 'attempt',
      target: slow,
    });
  });

  test('says so when no target can serve such a request', () => {
    const next = nextAttempt({
      ...base(),
      targets: [target('a')],
      tried: [],
      needs: { vision: true },
      capabilitiesOf: () => ({ vision: false }),
    });
    expect(next).toEqual({ kind: 'stop', because: 'unfit' });
  });

  test('stops when the retry budget is used up', () => {
    const options = { ...base(), targets: [target('a'), target('b')] };
    const tried = [{ target: target('a'), failure: serverError, lastResort: false }];
    const ends = Array.from({ length: 101 }, () => nextAttempt({ ...options, tried }).kind);
    expect(ends.slice(0, 100).every((kind) => kind === 'attempt')).toBe(true);
    expect(ends[100]).toBe('stop');
  });

  test('keeps a conversation on its target until that fails, and then on the next', () => {
    const [a, b] = [target('a'), target('b')];
    const options = { ...base(), targets: [a, b] };
    for (let i = 0; i < 50; i++) {
      expect(nextAttempt({ ...options, tried: [], sticky: b })).toMatchObject({ target: b });
    }
    const permit = options.health.begin(b);
    permit.failed({ class: 'rate_limit', scope: 'target', next: 'elsewhere', cooldownMs: 60_000 }, 1);
    permit.ended();
    expect(nextAttempt({ ...options, tried: [], sticky: b })).toMatchObject({ target: a, lastResort: false });
  });
});
