import { expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { costOf } from '../../src/pricing/cost.ts';
import { readUsage } from '../../src/pricing/usage-payload.ts';

const catalog = createCatalog();

/** Bills that users of other tools have published against what those tools said, and the examples of their own tests. */
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
  [
    'LiteLLM, test_reasoning_tokens_no_price_set: reasoning is part of the output',
    'openai',
    'o1',
    {
      prompt_tokens: 17,
      completion_tokens: 1_578,
      total_tokens: 1_595,
      completion_tokens_details: { reasoning_tokens: 952, text_tokens: 626 },
    },
    17 * 15_000 + 1_578 * 60_000,
  ],
  [
    'LiteLLM, test_reasoning_tokens_gemini: the same where a total confirms it',
    'google',
    'gemini-2.5-flash',
    {
      prompt_tokens: 17,
      completion_tokens: 1_578,
      total_tokens: 1_595,
      completion_tokens_details: { reasoning_tokens: 952, text_tokens: 626 },
    },
    17 * 300 + 1_578 * 2_500,
  ],
  [
    'LiteLLM, test_openai_cache_write_cost: writes of Chat Completions',
    'openai',
    'gpt-5.6-sol',
    {
      prompt_tokens: 12_317,
      completion_tokens: 5,
      total_tokens: 12_322,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 12_314 },
    },
    3 * 4_000 + 12_314 * 5_000 + 5 * 20_000,
  ],
  [
    'LiteLLM, test_openai_cache_write_cost: the same by Responses',
    'openai',
    'gpt-5.6-sol',
    {
      input_tokens: 12_317,
      output_tokens: 5,
      total_tokens: 12_322,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 12_314 },
    },
    3 * 4_000 + 12_314 * 5_000 + 5 * 20_000,
  ],
  [
    'LiteLLM, test_tiered_cache_creation_rates: a context above 272k',
    'openai',
    'gpt-5.6-sol',
    {
      prompt_tokens: 300_000,
      completion_tokens: 100,
      total_tokens: 300_100,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 299_000 },
    },
    1_000 * 8_000 + 299_000 * 10_000 + 100 * 30_000,
  ],
  [
    'LiteLLM, test_cache_cost_itemization: reads and writes in the details',
    'openai',
    'gpt-5.6-sol',
    {
      prompt_tokens: 42_122,
      completion_tokens: 50,
      total_tokens: 42_172,
      prompt_tokens_details: { cached_tokens: 16_000, cache_creation_tokens: 26_022 },
    },
    100 * 4_000 + 16_000 * 400 + 26_022 * 5_000 + 50 * 20_000,
  ],
  [
    "LiteLLM, test_anthropic_style_cache_itemization: Anthropic's names within a total",
    'openai',
    'gpt-5.6-sol',
    {
      prompt_tokens: 5_100,
      completion_tokens: 50,
      total_tokens: 5_150,
      prompt_tokens_details: { cached_tokens: 2_000 },
      cache_read_input_tokens: 2_000,
      cache_creation_input_tokens: 3_000,
    },
    100 * 4_000 + 2_000 * 400 + 3_000 * 5_000 + 50 * 20_000,
  ],
  [
    'LiteLLM, test_generic_cost_per_token_gpt54_above_272k_tokens',
    'openai',
    'gpt-5.4',
    { prompt_tokens: 273_000, completion_tokens: 1_000, total_tokens: 274_000 },
    273_000 * 5_000 + 1_000 * 22_500,
  ],
  [
    'LiteLLM, test_generic_cost_per_token_above_200k_tokens',
    'google',
    'gemini-2.5-pro',
    { prompt_tokens: 220_000, completion_tokens: 150, total_tokens: 220_150 },
    220_000 * 2_500 + 150 * 15_000,
  ],
  [
    "ccusage, its snapshot of Codex's log",
    'openai',
    'gpt-5.3-codex',
    {
      input_tokens: 210,
      input_tokens_details: { cached_tokens: 110 },
      output_tokens: 15,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 225,
    },
    404_250,
  ],
  [
    'ccusage, the same log: a small model',
    'openai',
    'gpt-5-mini',
    { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
    6_500,
  ],
  [
    'ccusage, prices_cache_creation_breakdown_by_duration, in the prices of a real model',
    'anthropic',
    'claude-opus-5',
    {
      input_tokens: 0,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      output_tokens: 0,
    },
    10 * 6_250 + 20 * 10_000 + 30 * 500,
  ],
])('%s', (_, provider, model, usage, nanoUsd) => {
  const card = catalog.find(provider, model, Date.parse('2026-11-20T12:00:00Z'));
  const read = readUsage(usage);
  if (!card || !read) throw new Error('no price');
  expect(costOf(read, card)).toBe(nanoUsd);
});
