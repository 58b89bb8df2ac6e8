import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { retryDelayMs } from '../../src/webhooks/dispatcher.ts';

const none = (bytes: number) => Buffer.alloc(bytes);
const most = (bytes: number) => Buffer.alloc(bytes, 255);

describe('retryDelayMs()', () => {
  it('waits 1, 5 and 30 seconds, and then no more', () => {
    expect([1, 2, 3, 4].map((attempt) => retryDelayMs(attempt, none))).toEqual([
      1_000,
      5_000,
      30_000,
      undefined,
    ]);
  });

  it('adds at most a tenth, and takes nothing away', () => {
    expect([1, 2, 3].map((attempt) => retryDelayMs(attempt, most))).toEqual([1_100, 5_500, 33_000]);
    const delays = Array.from({ length: 1_000 }, () => retryDelayMs(2, randomBytes) ?? 0);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...delays)).toBeLessThanOrEqual(5_500);
    expect(new Set(delays).size).toBeGreaterThan(100);
  });
});
