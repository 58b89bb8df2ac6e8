import { describe, expect, test } from 'vitest';
import { countTime, hedgeAfterMs, newHedging, takeHedge } from '../../src/routing/hedge.ts';

function seen(count: number) {
  const hedging = newHedging();
  for (let i = 1; i <= count; i++) countTime(hedging, 'm', i);
  return hedging;
}

describe('hedging', () => {
  test('waits for what 95 % of the answers take', () => {
    expect(hedgeAfterMs(seen(100), 'm')).toBe(96);
    expect(hedgeAfterMs(seen(1_000), 'm')).toBe(991);
  });

  test('is not done for a target that is hardly known', () => {
    expect(hedgeAfterMs(seen(19), 'm')).toBeUndefined();
    expect(hedgeAfterMs(seen(100), 'other')).toBeUndefined();
  });

  test('is done for at most 2 % of the requests', () => {
    const hedging = seen(1_000);
    const taken = Array.from({ length: 100 }, () => takeHedge(hedging)).filter(Boolean).length;
    expect(taken).toBe(20);
  });

  test('remembers no more targets than there may be', () => {
    const hedging = newHedging();
    for (let i = 0; i < 5_000; i++) countTime(hedging, `m${i}`, 1);
    expect(hedging.times.size).toBeLessThanOrEqual(1_000);
  });
});
