import { describe, expect, test } from 'vitest';
import { indexOverrides } from '../../src/pricing/override.ts';
import { flatRate } from '../../src/pricing/rate.ts';

const base = { inputPicoUsd: 150_000, outputPicoUsd: 600_000 };
const find = indexOverrides([
  { provider: null, model: 'House-Model', ...base },
  { provider: 'proxy', model: 'house-model', ...base, inputPicoUsd: 1 },
  { provider: 'proxy', model: 'anthropic/claude-x', ...base },
  {
    provider: 'proxy',
    model: 'full',
    ...base,
    cachedInputPicoUsd: 0,
    cacheWritePicoUsd: 2,
    cacheWrite1hPicoUsd: 3,
    audioInputPicoUsd: 4,
    audioOutputPicoUsd: 5,
    requestPicoUsd: 6,
  },
]);

describe('indexOverrides()', () => {
  test("prefers the provider's own override to the one for any provider", () => {
    expect(find('proxy', 'house-model')).toMatchObject({
      source: 'override proxy/house-model',
      input: flatRate(1n),
    });
    expect(find('elsewhere', 'house-model')).toMatchObject({
      source: 'override House-Model',
      input: flatRate(150_000n),
    });
  });

  test('matches whole names, whatever their case', () => {
    expect(find('Proxy', 'HOUSE-MODEL')?.source).toBe('override proxy/house-model');
    expect(find('proxy', 'house-model-2')).toBeUndefined();
    expect(find('', 'proxy\nhouse-model')).toBeUndefined();
  });

  test('fills in what is not stated as for any other price', () => {
    expect(find('proxy', 'anthropic/claude-x')?.cacheWrite1h).toEqual(flatRate(300_000n));
    expect(find('proxy', 'house-model')?.cachedInput).toEqual(flatRate(1n));
  });

  test('takes every price that is stated, 0 too', () => {
    expect(find('proxy', 'full')).toMatchObject({
      cachedInput: flatRate(0n),
      cacheWrite: flatRate(2n),
      cacheWrite1h: flatRate(3n),
      audioInput: flatRate(4n),
      audioOutput: flatRate(5n),
      perRequestPicoUsd: 6n,
    });
  });
});
