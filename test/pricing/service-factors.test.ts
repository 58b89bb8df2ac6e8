import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { type PriceCard, scaleCard } from '../../src/pricing/price-card.ts';
import { serviceFactor } from '../../src/pricing/service-factors.ts';

const catalog = createCatalog();

/** Dollars per million tokens: input, cached input, output. */
function pricesOf(provider: string, model: string, field: string, value: string): number[] {
  const card = catalog.find(provider, model) as PriceCard;
  const scaled = scaleCard(card, serviceFactor(field, value, model)?.factor ?? 0);
  return [scaled.input, scaled.cachedInput, scaled.output].map(({ picoUsd }) => Number(picoUsd) / 1e6);
}

describe('a service option has the price that its page lists', () => {
  // https://openai.com/api-priority-processing/ and developers.openai.com/api/docs/pricing
  test.each([
    ['gpt-5.5', 12.5, 1.25, 75],
    ['gpt-5.4', 5, 0.5, 30],
    ['gpt-5.4-mini', 1.5, 0.15, 9],
    ['gpt-5.2', 3.5, 0.35, 28],
    ['gpt-5.1', 2.5, 0.25, 20],
    ['gpt-5', 2.5, 0.25, 20],
    ['gpt-5-mini', 0.45, 0.045, 3.6],
    ['gpt-5-codex', 2.5, 0.25, 20],
    ['gpt-4.1', 3.5, 0.875, 14],
    ['gpt-4.1-mini', 0.7, 0.175, 2.8],
    ['gpt-4.1-nano', 0.2, 0.05, 0.8],
    ['gpt-4o', 4.25, 2.125, 17],
    ['gpt-4o-mini', 0.25, 0.125, 1],
    ['o3', 3.5, 0.875, 14],
    ['o4-mini', 2, 0.5, 8],
  ])('priority: %s', (model, ...prices) => {
    expect(pricesOf('openai', model, 'service_tier', 'priority')).toEqual(prices);
  });

  // https://platform.claude.com/docs/en/build-with-claude/fast-mode
  test.each([
    ['claude-opus-5', 10, 1, 50],
    ['claude-opus-4-8', 10, 1, 50],
    ['claude-opus-4-7', 30, 3, 150],
    ['claude-opus-4-6', 30, 3, 150],
  ])('fast: %s', (model, ...prices) => {
    expect(pricesOf('anthropic', model, 'speed', 'fast')).toEqual(prices);
  });
});

test('a model that no page names costs what the dearest does', () => {
  expect(serviceFactor('speed', 'fast', 'claude-opus-9')).toEqual({ factor: 6, isKnown: false });
  expect(serviceFactor('service_tier', 'priority', 'gpt-5.4-nano')).toEqual({ factor: 2.5, isKnown: false });
  expect(serviceFactor('speed', 'warp', 'claude-opus-5')).toBeUndefined();
  expect(serviceFactor('speed', 'toString', 'claude-opus-5')).toBeUndefined();
});
