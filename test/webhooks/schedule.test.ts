import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter, retryDelayMs } from '../../src/webhooks/schedule.ts';

const none = (bytes: number) => Buffer.alloc(bytes);
const most = (bytes: number) => Buffer.alloc(bytes, 255);

describe('retryDelayMs()', () => {
  it('waits 1, 5 and 30 seconds, and then no more', () => {
    expect([1, 2, 3, 4].map((attempt) => retryDelayMs(attempt, 0, none))).toEqual([
      1_000,
      5_000,
      30_000,
      undefined,
    ]);
  });

  it('adds at most a tenth, and takes nothing away', () => {
    expect([1, 2, 3].map((attempt) => retryDelayMs(attempt, 0, most))).toEqual([1_100, 5_500, 33_000]);
    const delays = Array.from({ length: 1_000 }, () => retryDelayMs(2, 0, randomBytes) ?? 0);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(5_500);
    expect(new Set(delays).size).toBeGreaterThan(100);
  });

  it('obeys a longer wait that the receiver asks for, up to a day', () => {
    expect(retryDelayMs(1, 120_000, none)).toBe(120_000);
    expect(retryDelayMs(3, 10_000, none)).toBe(30_000);
    expect(retryDelayMs(1, 10 * 86_400_000, none)).toBe(86_400_000);
    expect(retryDelayMs(4, 120_000, none)).toBeUndefined();
  });
});

describe('parseRetryAfter()', () => {
  const now = Date.UTC(2026, 4, 12, 13, 40);
  it.each([
    [undefined, 0],
    ['0', 0],
    ['7', 7_000],
    ['0.25', 250],
    [' 3 ', 3_000],
    ['Tue, 12 May 2026 13:41:00 GMT', 60_000],
    ['Tue, 12 May 2026 13:39:00 GMT', 0],
    ['soon', 0],
    ['-5', 0],
    ['2026', 2_026_000],
    ['1e9', 0],
    ['', 0],
  ])('reads %j as %d ms', (header, expected) => {
    expect(parseRetryAfter(header, now)).toBe(expected);
  });
});
