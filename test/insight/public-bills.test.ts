import { expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { costOf } from '../../src/pricing/cost.ts';
import { readUsage } from '../../src/pricing/usage-payload.ts';

const catalog = createCatalog();

/** Bills that users of other tools have published against what those tools said. */
test.each<[string, string, string, object, number]>([
  [
    'BerriAI/litellm#9812, by the console of the provider',
    'anthropic',
    'claude-3-7-sonnet-20250219',
    { input_tokens: 3, cache_creation_input_tokens: 12_304, cache_read_input_tokens: 0, output_tokens: 550 },
    3 * 3_000 + 12_304 * 3_750 + 550 * 15_000,
  ],
  [
    'BerriAI/litellm#31282: the input includes what was cached',
    'openai',
    'gpt-4.1',
    { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 900 } },
    100 * 2_000 + 900 * 500,
  ],
  [
    'danny-avila/LibreChat#13795: the input excludes what was cached',
    'anthropic',
    'claude-sonnet-4-5',
    { input_tokens: 100, cache_creation_input_tokens: 700, cache_read_input_tokens: 200, output_tokens: 0 },
    100 * 3_000 + 700 * 3_750 + 200 * 300,
  ],
  [
    'langfuse/claude-observability-plugin#34: an hour of the cache',
    'anthropic',
    'claude-fable-5',
    {
      input_tokens: 0,
      cache_creation_input_tokens: 37_175,
      cache_creation: { ephemeral_1h_input_tokens: 37_175, ephemeral_5m_input_tokens: 0 },
      output_tokens: 0,
    },
    743_500_000,
  ],
  [
    'kenn-io/agentsview#1452, phuryn/claude-usage#162, majiayu000/ccstats#86: both lifetimes',
    'anthropic',
    'claude-opus-5',
    {
      input_tokens: 1,
      cache_creation_input_tokens: 3_904 + 8_989,
      cache_creation: { ephemeral_1h_input_tokens: 8_989, ephemeral_5m_input_tokens: 3_904 },
      output_tokens: 1,
    },
    5_000 + 8_989 * 10_000 + 3_904 * 6_250 + 25_000,
  ],
  [
    'ccusage/ccusage#1617: writes of GPT-5.6, in the figures of the session',
    'openai',
    'gpt-5.6-terra',
    {
      input_tokens: 60_000,
      input_tokens_details: { cached_tokens: 2_000, cache_write_tokens: 57_610 },
      output_tokens: 227,
    },
    390 * 2_000 + 2_000 * 200 + 57_610 * 2_500 + 227 * 12_000,
  ],
])('%s', (_, provider, model, usage, nanoUsd) => {
  const card = catalog.find(provider, model, Date.parse('2026-11-20T12:00:00Z'));
  const read = readUsage(usage);
  if (!card || !read) throw new Error('no price');
  expect(costOf(read, card)).toBe(nanoUsd);
});
