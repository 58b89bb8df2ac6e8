import { expect, test } from 'vitest';
import type { TierChoice } from '../../../src/gateway/context/request-context.ts';
import { describeTier } from '../../../src/gateway/routing/describe-tier.ts';

function textOf(score: number, threshold: number): string {
  const choice = {
    decision: { applied: true, tier: 'weak', threshold, because: 'share' },
    scored: { score, why: [], basis: 'prior' },
    name: 'fast',
    lacks: [],
  } as unknown as TierChoice;
  return describeTier(choice, 'gpt-5');
}

test.each([
  [0.21, 0.35, '0.21<0.35'],
  [0.0912, 0.0948, '0.091<0.095'],
  [0.09121, 0.09128, '0.0912<0.0913'],
  [0.0912, 0.0912, '0.09=0.09'],
])('the score %d at the threshold %d shows which is more', (score, threshold, text) => {
  expect(textOf(score, threshold)).toBe(`tier=fast; asked=gpt-5; score=${text}; basis=prior; by=share`);
});
