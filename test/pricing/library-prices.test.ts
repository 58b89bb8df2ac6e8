import { describe, expect, test } from 'vitest';
import { pricesFromLibrary } from '../../src/pricing/library-prices.ts';
import { FREE_RATE, flatRate } from '../../src/pricing/rate.ts';

describe('pricesFromLibrary()', () => {
  test('turns dollars per million tokens into pico-dollars per token, tiers in order', () => {
    const tiers = [
      { start: 400_000, price: 3.3 },
      { start: 200_000, price: 2.2 },
    ];
    const prices = pricesFromLibrary('m', { input_mtok: { base: 1.1, tiers }, output_mtok: 0.15 });
    expect(prices?.input).toEqual({
      picoUsd: 1_100_000n,
      tiers: [
        { overTokens: 200_000, picoUsd: 2_200_000n },
        { overTokens: 400_000, picoUsd: 3_300_000n },
      ],
    });
    expect(prices?.output).toEqual(flatRate(150_000n));
  });

  test('turns dollars per thousand requests into pico-dollars per request', () => {
    const prices = pricesFromLibrary('sonar', { input_mtok: 1, output_mtok: 1, requests_kcount: 12 });
    expect(prices?.perRequestPicoUsd).toBe(12_000_000_000n);
  });

  test('charges output at the input price where it has none', () => {
    expect(pricesFromLibrary('text-embedding', { input_mtok: 0.02 })?.output).toEqual(flatRate(20_000n));
  });

  test('charges the output of a model that makes pictures as pictures', () => {
    const prices = pricesFromLibrary('an-image', {
      input_mtok: 0.3,
      output_mtok: 2.5,
      output_image_mtok: 30,
    });
    expect([prices?.output, prices?.imageOutput]).toEqual([flatRate(2_500_000n), flatRate(30_000_000n)]);
  });

  test('does not charge pictures as text in a model that makes them', () => {
    const text = { input_mtok: 0.3, output_mtok: 2.5 };
    for (const model of [
      'google/gemini-2.5-flash-image',
      'openai/gpt-5.4-image-2',
      'gemini-3-pro-image-preview',
    ]) {
      expect(pricesFromLibrary(model, text)).toBeUndefined();
    }
    expect(pricesFromLibrary('gpt-image-1', text)?.output).toEqual(flatRate(2_500_000n));
  });

  test('takes an entry without a price for free only in a free variant', () => {
    expect(pricesFromLibrary('openai/gpt-oss-20b:free', {})?.output).toEqual(FREE_RATE);
    expect(pricesFromLibrary('qwen-3-coder-480b', {})).toBeUndefined();
  });

  test('does not know what tokens cost where pages or minutes are priced', () => {
    expect(pricesFromLibrary('mistral-ocr', { input_document_kpages: 4 })).toBeUndefined();
    expect(pricesFromLibrary('whisper-1:free', { audio_hours: 0.36 })).toBeUndefined();
  });

  test('does not charge audio as text in a model for audio', () => {
    const text = { input_mtok: 2.5, output_mtok: 10 };
    expect(pricesFromLibrary('gpt-4o-audio-preview', text)).toBeUndefined();
    expect(pricesFromLibrary('gpt-audio', { ...text, input_audio_mtok: 32 })?.audioInput).toEqual(
      flatRate(32_000_000n),
    );
    expect(pricesFromLibrary('olive-7b', text)?.audioInput).toEqual(flatRate(2_500_000n));
  });
});
