import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createStallWatch, type WatchedCall } from '../../../src/gateway/state/stall-watch.ts';

const LIMITS = { firstByteTimeoutMs: 8_000, idleTimeoutMs: 4_000 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface StalledCall extends WatchedCall {
  codes: string[];
}

function call(answered = false): StalledCall {
  const codes: string[] = [];
  return {
    hasProgress: true,
    paused: false,
    answered,
    checks: 0,
    idleChecks: 0,
    index: -1,
    codes,
    stall: (error) => codes.push((error as Error & { code: string }).code),
  };
}

function watched(answered: boolean) {
  const watch = createStallWatch(LIMITS);
  const silent = call(answered);
  watch.add(silent);
  return { watch, silent };
}

test('a call without an answer ends at the limit, at most two checks late', () => {
  const { silent } = watched(false);
  vi.advanceTimersByTime(8_000);
  expect(silent.codes).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(silent.codes[0]).toBe('UND_ERR_HEADERS_TIMEOUT');
});

test('an answer that stalls ends at the idle limit', () => {
  const { silent } = watched(true);
  vi.advanceTimersByTime(4_000);
  expect(silent.codes).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(silent.codes[0]).toBe('UND_ERR_BODY_TIMEOUT');
});

test('any data restarts the limit', () => {
  const { silent } = watched(true);
  for (let i = 0; i < 20; i++) {
    vi.advanceTimersByTime(3_500);
    silent.hasProgress = true;
  }
  expect(silent.codes).toEqual([]);
});

test('a provider that is paused for a slow client does not stall', () => {
  const { silent } = watched(true);
  silent.paused = true;
  vi.advanceTimersByTime(60_000);
  expect(silent.codes).toEqual([]);
  silent.paused = false;
  vi.advanceTimersByTime(5_000);
  expect(silent.codes[0]).toBe('UND_ERR_BODY_TIMEOUT');
});

test.each([
  ['sends', false],
  ['is paused for a slow client', true],
])('a provider that still %s after two hours is cut off', (_, paused) => {
  const { silent } = watched(true);
  silent.paused = paused;
  const minutes = (count: number) => {
    for (let second = 0; second < count * 60; second++) {
      silent.hasProgress = true;
      vi.advanceTimersByTime(1_000);
    }
  };
  minutes(119);
  expect(silent.codes).toEqual([]);
  minutes(2);
  expect(silent.codes[0]).toBe('UND_ERR_BODY_TIMEOUT');
});

test('a call that ended is no longer watched, and without calls there is no timer', () => {
  const { watch, silent } = watched(false);
  watch.remove(silent);
  vi.advanceTimersByTime(60_000);
  expect(silent.codes).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  watch.add(silent);
  expect(vi.getTimerCount()).toBe(1);
});

test('each of many calls ends on its own', () => {
  const watch = createStallWatch(LIMITS);
  const calls = Array.from({ length: 5 }, () => call(true));
  for (const each of calls) {
    watch.add(each);
    each.stall = (error) => {
      each.codes.push(error.message);
      watch.remove(each);
    };
  }
  watch.remove(calls[1] as StalledCall);
  watch.remove(calls[4] as StalledCall);
  watch.remove(calls[4] as StalledCall);
  vi.advanceTimersByTime(2_000);
  (calls[2] as StalledCall).hasProgress = true;
  vi.advanceTimersByTime(3_000);
  expect(calls.map(({ codes }) => codes.length)).toEqual([1, 0, 0, 1, 0]);
  vi.advanceTimersByTime(3_000);
  expect(calls.map(({ codes }) => codes.length)).toEqual([1, 0, 1, 1, 0]);
  expect(vi.getTimerCount()).toBe(0);
});

test('after a sleep, calls have to show a sign of life sooner', () => {
  const watch = createStallWatch({ firstByteTimeoutMs: 600_000, idleTimeoutMs: 300_000 });
  const [waiting, reading, alive, slow] = [call(), call(true), call(true), { ...call(true), paused: true }];
  for (const each of [waiting, reading, alive, slow]) watch.add(each);
  vi.advanceTimersByTime(30_000);
  watch.hurry();
  vi.advanceTimersByTime(149_000);
  expect([waiting.codes, reading.codes]).toEqual([[], []]);
  alive.hasProgress = true;
  vi.advanceTimersByTime(2_000);
  expect(waiting.codes[0]).toBe('UND_ERR_HEADERS_TIMEOUT');
  expect(reading.codes[0]).toBe('UND_ERR_BODY_TIMEOUT');
  expect([alive.codes, slow.codes]).toEqual([[], []]);
});
