import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { worstCase } from '../../src/pricing/cost.ts';
import { rateAt } from '../../src/pricing/rate.ts';

const { find } = createCatalog();

describe('a long input at OpenRouter', () => {
  test.each([
    ['google/gemini-2.5-pro', 'google', 'gemini-2.5-pro'],
    ['google/gemini-3.1-pro-preview', 'google', 'gemini-3.1-pro-preview'],
    ['x-ai/grok-4.20', 'xai', 'grok-4.20'],
  ])('of %s costs as much more as with its maker', (model, maker, name) => {
    const card = find('openrouter', model);
    const makers = find(maker, name);
    if (!card || !makers) throw new Error('the library has lost it');
    for (const tokens of [100_000, 900_000]) {
      expect(rateAt(card.input, tokens)).toBe(rateAt(makers.input, tokens));
      expect(rateAt(card.output, tokens)).toBe(rateAt(makers.output, tokens));
    }
    const bound = { inputTokens: 900_000, outputTokens: 1_000, choices: 1 };
    expect(worstCase(bound, card)).toBeGreaterThanOrEqual(worstCase(bound, makers));
  });

  test.each(['openai/gpt-5.4', 'anthropic/claude-sonnet-4.5'])('of %s has tiers of its own', (model) => {
    expect(find('openrouter', model)?.input.tiers).toHaveLength(1);
  });

  test.each(['openai/gpt-4o', 'meta-llama/llama-3.3-70b-instruct', 'mistralai/mistral-large'])(
    'of %s costs what a short one does',
    (model) => {
      expect(find('openrouter', model)?.input.tiers).toEqual([]);
    },
  );
});
