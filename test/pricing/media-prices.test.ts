import { expect, test } from 'vitest';
import { publishedMedia } from '../../src/pricing/media-prices.ts';

const NOW = Date.UTC(2026, 4, 12);

test("a price by the hour is one by the second, rounded up, at its seller's", () => {
  // $0.111 an hour: 30.8333 microdollars a second.
  expect(publishedMedia('groq', 'whisper-large-v3', NOW)?.second?.('')).toBe(30_833_334n);
  expect(publishedMedia('groq', 'llama-3.3-70b-versatile', NOW)).toBeUndefined();
});

test('what OpenAI publishes is the price at Azure too, and at no other', () => {
  const openai = publishedMedia('openai', 'sora-2', NOW);
  expect(openai?.second?.('720x1280')).toBeGreaterThan(0n);
  expect(publishedMedia('azure', 'sora-2', NOW)).toBe(openai);
  expect(publishedMedia('groq', 'sora-2', NOW)).toBeUndefined();
});
