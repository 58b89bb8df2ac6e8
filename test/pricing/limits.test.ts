import { findProvider } from '@pydantic/genai-prices';
import { describe, expect, onTestFinished, test } from 'vitest';
import { packagedPrices, setPrices } from '../../src/pricing/library.ts';
import { modelLimits } from '../../src/pricing/limits.ts';

describe('modelLimits()', () => {
  test.each([
    ['openai', 'gpt-4o', 128_000, 16_384],
    ['openai', 'gpt-4o-2024-05-13', 128_000, 4_096],
    ['openai', 'gpt-4o-mini-2024-07-18', 128_000, 16_384],
    ['openai', 'gpt-4-turbo-2024-04-09', 128_000, 4_096],
    ['openai', 'gpt-3.5-turbo', 16_385, 4_096],
    ['openai', 'gpt-5-2025-08-07', 400_000, 128_000],
    ['openai', 'gpt-5-pro', 400_000, 272_000],
    ['openai', 'gpt-5.1-codex-mini', 400_000, 128_000],
    ['openai', 'gpt-6-sol', 1_050_000, 128_000],
    ['openai', 'o1', 200_000, 100_000],
    ['openai', 'o4-mini-2025-04-16', 200_000, 100_000],
    ['azure', 'o3-mini', 200_000, 100_000],
    ['anthropic', 'claude-3-opus-20240229', 200_000, 4_096],
    ['anthropic', 'claude-3-5-sonnet-20241022', 200_000, 8_192],
    ['anthropic', 'claude-opus-4-1-20250805', 200_000, 32_000],
    ['anthropic', 'claude-sonnet-4-5-20250929', 200_000, 64_000],
    ['anthropic', 'claude-opus-4-6', 1_000_000, 128_000],
    ['google', 'models/gemini-2.5-flash', 1_048_576, 65_536],
    ['google', 'gemini-1.5-pro-002', 1_000_000, 8_192],
    ['google', 'claude-sonnet-4@20250514', 200_000, 64_000],
    ['deepseek', 'deepseek-v4-pro', 1_000_000, 393_216],
    ['openrouter', 'anthropic/claude-opus-4.5', 200_000, 64_000],
    ['openrouter', 'openai/gpt-4o', 128_000, 16_384],
    ['sandbox', 'sandbox/echo', 128_000, 16_384],
  ])('%s %s: %d and %d', (provider, model, contextTokens, maxOutputTokens) => {
    expect(modelLimits(provider, model)).toEqual({ contextTokens, maxOutputTokens });
  });

  test('knows the output even where the data has no context window', () => {
    expect(modelLimits('google', 'gemini-2.5-pro')).toEqual({ maxOutputTokens: 65_536 });
  });

  test('bounds the output by the context window where nothing better is known', () => {
    expect(modelLimits('xai', 'grok-4')).toEqual({ contextTokens: 256_000, maxOutputTokens: 256_000 });
    expect(modelLimits('openai', 'gpt-4')).toEqual({ contextTokens: 8_192, maxOutputTokens: 8_192 });
  });

  test("does not take a maker's limit for that of another host", () => {
    expect(modelLimits('groq', 'openai/gpt-oss-120b')).toEqual({
      contextTokens: 131_072,
      maxOutputTokens: 131_072,
    });
    expect(modelLimits('openrouter', 'deepseek/deepseek-r1')?.maxOutputTokens).not.toBe(393_216);
  });

  test('is unknown for models that are not in the data', () => {
    expect(modelLimits('openai', 'gpt-99')).toBeUndefined();
    expect(modelLimits('my-proxy', 'gpt-4o')).toBeUndefined();
    expect(modelLimits('ollama', 'llama3.2:3b')).toBeUndefined();
    expect(modelLimits('openai', 'gpt-4o'.padEnd(300, '-'))).toBeUndefined();
  });

  test('gives no limits at all for a model of which neither is known', () => {
    expect(modelLimits('groq', 'llama-3.3-70b-versatile')).toEqual({});
  });

  test.each(['anthropic', 'azure', 'deepseek', 'google', 'openai', 'openrouter'])(
    'never has %s write more than it reads and writes',
    (provider) => {
      const models = findProvider({ providerId: provider })?.models ?? [];
      expect(models.length).toBeGreaterThan(0);
      for (const { id } of models) {
        const { contextTokens, maxOutputTokens } = modelLimits(provider, id) ?? {};
        if (contextTokens === undefined) continue;
        expect(maxOutputTokens, id).toBeLessThanOrEqual(contextTokens);
      }
    },
  );
});

test('limits are those of the price data in use', () => {
  const before = modelLimits('xai', 'grok-4');
  const longer = packagedPrices().map((provider) =>
    provider.id === 'x-ai'
      ? { ...provider, models: provider.models.map((model) => ({ ...model, context_window: 7_000_000 })) }
      : provider,
  );
  onTestFinished(() => setPrices(undefined));
  setPrices(longer);
  expect(modelLimits('xai', 'grok-4')).toMatchObject({ contextTokens: 7_000_000 });
  setPrices(undefined);
  expect(modelLimits('xai', 'grok-4')).toEqual(before);
});
