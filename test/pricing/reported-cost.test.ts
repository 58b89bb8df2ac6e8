import { describe, expect, test } from 'vitest';
import { readReportedCost } from '../../src/pricing/reported-cost.ts';

describe('readReportedCost()', () => {
  test.each([
    ['openrouter', { cost: 0.00014 }, 140_000],
    ['openrouter', { cost: 0 }, 0],
    ['openrouter', { cost: 1.05e-7 }, 105],
    ['openrouter', { cost: 1e-10 }, 1], // up, as always
    [
      'openrouter',
      { cost: 0.95, is_byok: false, cost_details: { upstream_inference_cost: 19 } },
      950_000_000,
    ],
    // With a key of the user's own: OpenRouter's fee and the bill of the provider behind it.
    [
      'openrouter',
      { cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: 1 } },
      1_050_000_000,
    ],
    ['perplexity', { cost: { request_cost: 0.006, total_cost: 0.014 } }, 14_000_000],
    ['xai', { cost_in_usd_ticks: 318_319_000 }, 31_831_900],
    ['xai', { cost_in_usd_ticks: 1 }, 1],
  ])('%s %j', (provider, usage, nanoUsd) => {
    expect(readReportedCost(provider, usage)).toBe(nanoUsd);
  });

  test.each([
    ['openrouter', { cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: null } }],
    ['openrouter', { cost: '0.1' }],
    ['openrouter', { cost: -0.1 }],
    ['openrouter', { cost: Number.NaN }],
    ['openrouter', {}],
    ['openrouter', null],
    ['perplexity', { cost: 0.014 }],
    ['xai', { cost: 0.014 }],
    ['my-proxy', { cost: 0 }],
    ['openai', { cost: 0.1 }],
  ])('is unknown: %s %j', (provider, usage) => {
    expect(readReportedCost(provider, usage)).toBeUndefined();
  });
});
