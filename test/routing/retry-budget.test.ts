import { describe, expect, test } from 'vitest';
import { countRequest, newRetryBudget, takeRetry } from '../../src/routing/next-attempt.ts';

describe('the retry budget', () => {
  test('allows a burst of 100 where there is no traffic', () => {
    const budget = newRetryBudget();
    const taken = Array.from({ length: 200 }, () => takeRetry(budget, 0)).filter(Boolean).length;
    expect(taken).toBe(100);
  });

  test('allows a fifth of the requests besides', () => {
    const budget = newRetryBudget();
    for (let i = 0; i < 1_000; i++) countRequest(budget, 0);
    const taken = Array.from({ length: 1_000 }, () => takeRetry(budget, 0)).filter(Boolean).length;
    expect(taken).toBe(300);
  });

  test('forgets after ten seconds', () => {
    const budget = newRetryBudget();
    for (let i = 0; i < 100; i++) takeRetry(budget, 500);
    expect(takeRetry(budget, 9_900)).toBe(false);
    expect(takeRetry(budget, 10_500)).toBe(true);
  });

  test('keeps retries near a fifth under sustained failure', () => {
    const budget = newRetryBudget();
    let retries = 0;
    for (let ms = 0; ms < 60_000; ms++) {
      countRequest(budget, ms);
      if (takeRetry(budget, ms)) retries++;
    }
    expect(retries / 60_000).toBeLessThan(0.22);
  });
});
