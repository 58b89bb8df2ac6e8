import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  abandonProbe,
  type Breaker,
  beginAttempt,
  blockedUntil,
  newBreaker,
  recordFailure,
  recordSuccess,
} from '../../src/routing/breaker.ts';

const fail = (breaker: Breaker, nowMs: number, waitMs?: number) =>
  recordFailure(breaker, nowMs, { waitMs, random: () => 1 });

function opened(atMs = 0): Breaker {
  const breaker = newBreaker();
  for (let i = 0; i < 5; i++) fail(breaker, atMs);
  return breaker;
}

describe('the breaker', () => {
  test('opens at five failures in a row', () => {
    const breaker = newBreaker();
    for (let i = 0; i < 4; i++) fail(breaker, i);
    expect(blockedUntil(breaker, 4)).toBe(0);
    fail(breaker, 4);
    expect(blockedUntil(breaker, 4)).toBe(5_004);
  });

  test('opens at half of ten attempts within 30 s, and not on older ones', () => {
    const alternate = (everyMs: number) => {
      const breaker = newBreaker();
      for (let i = 0; i < 10; i++) {
        if (i % 2 === 0) recordSuccess(breaker, i * everyMs);
        else fail(breaker, i * everyMs);
      }
      return breaker.phase;
    };
    expect(alternate(1_000)).toBe('open');
    expect(alternate(10_000)).toBe('closed');
  });

  test('keeps a minute of heavy load in few words', () => {
    const breaker = newBreaker();
    for (let ms = 0; ms < 60_000; ms += 0.25) recordSuccess(breaker, ms);
    expect(breaker.recent.length).toBeLessThanOrEqual(31);
    expect(breaker.recent.reduce((sum, { attempts }) => sum + attempts, 0)).toBeGreaterThan(29 * 4_000);
  });

  test('lets one probe through when its time is over', () => {
    const breaker = opened();
    expect(blockedUntil(breaker, 5_000)).toBe(0);
    expect(beginAttempt(breaker, 5_000)).toBe(true);
    expect(blockedUntil(breaker, 5_001)).toBeGreaterThan(5_001);
    expect(beginAttempt(breaker, 5_001)).toBe(false);
  });

  test('closes after two good probes', () => {
    const breaker = opened();
    beginAttempt(breaker, 6_000);
    recordSuccess(breaker, 6_100);
    expect(breaker.phase).toBe('half_open');
    beginAttempt(breaker, 6_200);
    recordSuccess(breaker, 6_300);
    expect(breaker).toEqual(newBreaker());
  });

  test('opens again for twice as long when a probe fails, up to a minute', () => {
    const breaker = opened();
    const waits: number[] = [];
    for (let i = 0; i < 6; i++) {
      const nowMs = breaker.openUntilMs;
      beginAttempt(breaker, nowMs);
      fail(breaker, nowMs);
      waits.push(breaker.openUntilMs - nowMs);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test('stays open for as long as the upstream asks', () => {
    const breaker = newBreaker();
    for (let i = 0; i < 5; i++) fail(breaker, 0, 90_000);
    expect(blockedUntil(breaker, 1)).toBe(90_000);
  });

  test('does not take "at once" from an upstream that keeps failing', () => {
    const breaker = newBreaker();
    for (let i = 0; i < 5; i++) fail(breaker, 0, 0);
    expect(blockedUntil(breaker, 1)).toBe(5_000);
  });

  test('is not moved by requests that were under way when it opened', () => {
    const breaker = opened();
    fail(breaker, 100);
    recordSuccess(breaker, 200);
    expect(breaker).toMatchObject({ phase: 'open', openUntilMs: 5_000, openings: 1 });
  });

  test('lets the next probe through when one was abandoned, or never reports', () => {
    const breaker = opened();
    beginAttempt(breaker, 5_000);
    abandonProbe(breaker);
    expect(blockedUntil(breaker, 5_001)).toBe(0);
    beginAttempt(breaker, 5_001);
    expect(blockedUntil(breaker, 5_001 + 120_000)).toBe(0);
  });

  test('whatever happens, lets somebody through within two minutes', () => {
    const event = fc.record({
      kind: fc.constantFrom('begin', 'ok', 'fail', 'abandon'),
      afterMs: fc.nat(20_000),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const breaker = newBreaker();
        let nowMs = 0;
        for (const { kind, afterMs } of events) {
          nowMs += afterMs;
          if (kind === 'begin') beginAttempt(breaker, nowMs);
          else if (kind === 'ok') recordSuccess(breaker, nowMs);
          else if (kind === 'fail') fail(breaker, nowMs);
          else abandonProbe(breaker);
          expect(blockedUntil(breaker, nowMs)).toBeLessThanOrEqual(nowMs + 120_000);
        }
      }),
    );
  });
});
