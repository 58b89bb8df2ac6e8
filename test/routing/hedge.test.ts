import { describe, expect, test } from 'vitest';
import { countTime, hedgeAfterMs, newHedging, takeHedge } from '../../src/routing/hedge.ts';

function seen(count: number) {
  const hedging = newHedging();
  for (let i = 1; i <= count; i++) countTime(hedging, 'm', i);
  return hedging;
}

describe('hedging', () => {
  test('waits for what 95 % of the answers take', () => {
    expect(hedgeAfterMs(seen(100), 'm', false)).toBe(96);
    expect(hedgeAfterMs(seen(1_000), 'm', false)).toBe(991);
  });

  test('is not done for a model that is hardly known, nor with tools', () => {
    expect(hedgeAfterMs(seen(19), 'm', false)).toBeUndefined();
    expect(hedgeAfterMs(seen(100), 'other', false)).toBeUndefined();
    expect(hedgeAfterMs(seen(100), 'm', true)).toBeUndefined();
  });

  test('is done for at most 2 % of the requests', () => {
    const hedging = seen(1_000);
    const taken = Array.from({ length: 100 }, () => takeHedge(hedging)).filter(Boolean).length;
    expect(taken).toBe(20);
  });
});
