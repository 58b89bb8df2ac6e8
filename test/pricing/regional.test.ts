import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { regionalCard } from '../../src/pricing/service-factors.ts';

const EU = 'https://eu.api.openai.com';

describe('regionalCard()', () => {
  test.each([
    ['openai', 'gpt-5.4', EU, 11n],
    ['openai', 'gpt-5.6-sol', 'https://us.api.openai.com', 11n],
    ['openai', 'gpt-4o', EU, 10n],
    ['openai', 'gpt-5.1', EU, 10n],
    ['openai', 'gpt-5.4', 'https://api.openai.com', 10n],
    ['openai', 'gpt-5.4', 'https://eu.api.openai.com.example', 10n],
    ['xai', 'grok-4', 'https://us.api.x.ai', 11n],
    ['azure', 'gpt-5.4', EU, 10n],
  ])('%s has %s at %s for %d tenths', (name, model, origin, tenths) => {
    const card = createCatalog().find(name, model);
    const price = (card?.input.picoUsd ?? 0n) * tenths;
    expect(price).toBeGreaterThan(0n);
    expect(regionalCard(card, { name, origin }, model)?.input.picoUsd).toBe(price / 10n);
  });

  test('leaves a price alone that the user has set, and none where there is none', () => {
    const override = { provider: 'openai', model: 'gpt-5.4', inputPicoUsd: 10, outputPicoUsd: 20 };
    const card = createCatalog({ overrides: [override] }).find('openai', 'gpt-5.4');
    expect(regionalCard(card, { name: 'openai', origin: EU }, 'gpt-5.4')).toBe(card);
    expect(regionalCard(undefined, { name: 'openai', origin: EU }, 'gpt-9')).toBeUndefined();
  });
});
