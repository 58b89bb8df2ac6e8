import { type ConditionalPrice, calcPrice, findProvider, type ModelInfo } from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { costOf, isFree, worstCase } from '../../src/pricing/cost.ts';
import { rateAt } from '../../src/pricing/rate.ts';
import { NO_USAGE } from '../../src/usage.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const HOUR_MS = 3_600_000;
const catalog = createCatalog({ now: () => NOW });

function model(provider: string, id: string): ModelInfo {
  const found = findProvider({ providerId: provider })?.models.find((each) => each.id === id);
  if (!found) throw new Error(`the data has no ${provider} ${id} any more`);
  return found;
}

function inputAt(provider: string, name: string, atMs?: number): bigint | undefined {
  const card = catalog.find(provider, name, atMs);
  return card && rateAt(card.input, 0);
}

describe('find() matches names as the library does', () => {
  test.each([
    ['openai', 'gpt-4o-2024-08-06', 'openai/gpt-4o'],
    ['openai', 'GPT-4o', 'openai/gpt-4o'],
    ['openai', 'gpt-4o-2024-05-13', 'openai/gpt-4o-2024-05-13'],
    ['openai', 'ft:gpt-4o-mini-2024-07-18:acme::AbC', 'openai/ft:gpt-4o-mini'],
    ['google', 'gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['google', 'models/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['google', 'google/gemini-2.5-flash', 'google/gemini-2.5-flash'],
    ['google', 'claude-sonnet-4-5@20250929', 'google/claude-sonnet-4-5'],
    ['anthropic', 'claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4-5'],
    ['azure', 'grok-4', 'azure/grok-4-0709'],
    ['xai', 'grok-4', 'x-ai/grok-4-0709'],
    ['groq', 'openai/gpt-oss-120b', 'groq/openai/gpt-oss-120b'],
    ['mistral', 'mistral-large-2411', 'mistral/mistral-large'],
    ['deepseek', 'deepseek-reasoner', 'deepseek/deepseek-reasoner'],
    ['openrouter', 'anthropic/claude-sonnet-4.5', 'openrouter/anthropic/claude-sonnet-4.5'],
    [
      'openrouter',
      'meta-llama/llama-3.3-70b-instruct:free',
      'openrouter/meta-llama/llama-3.3-70b-instruct:free',
    ],
    [
      'together',
      'meta-llama/Llama-3.3-70B-Instruct-Turbo',
      'together/meta-llama/Llama-3.3-70B-Instruct-Turbo',
    ],
    ['fireworks', 'accounts/fireworks/models/gpt-oss-120b', 'fireworks/gpt-oss-120b'],
    ['cerebras', 'gpt-oss-120b', 'cerebras/gpt-oss-120b'],
    ['perplexity', 'sonar-pro', 'perplexity/sonar-pro'],
    ['moonshot', 'kimi-k2-thinking', 'moonshotai/kimi-k2-thinking'],
  ])('%s %s', (provider, name, id) => {
    const card = catalog.find(provider, name);
    expect(card?.source).toBe(`genai-prices ${id}`);
  });
});

describe('find() does not guess', () => {
  test.each([
    ['openai', 'gpt-99'],
    ['openai', 'gpt-4o-of-my-own'],
    ['openai', ''],
    ['azure', 'my-deployment'],
    ['openrouter', 'openai/gpt-4o:nitro'], // whatever host is fastest, at its price
    ['openrouter', 'openai/gpt-4o:online'], // searches are billed besides
    ['openrouter', 'openrouter/auto'],
    ['openrouter', 'nobody/nothing:free'],
    ['openai', 'whisper-1'], // by the minute
    ['openai', 'gpt-4o-audio-preview'], // the data lacks what its audio costs
    ['cerebras', 'qwen-3-coder-480b'], // an entry without a price
    ['sandbox', 'gpt-4o'],
  ])('%s %s', (provider, name) => {
    expect(catalog.find(provider, name)).toBeUndefined();
  });

  test.each(['my-proxy', 'litellm', 'OpenAI', 'x-ai', 'bedrock', 'constructor', ''])(
    'a price at the provider %j, whatever its models are called',
    (provider) => {
      expect(catalog.find(provider, 'gpt-4o')).toBeUndefined();
      expect(catalog.find(provider, 'openai/gpt-4o')).toBeUndefined();
    },
  );

  test('for a name too long to be one', () => {
    expect(catalog.find('openai', 'gpt-4o-audio-preview'.padEnd(300, 'x'))).toBeUndefined();
  });
});

describe('find() knows what gw brings along', () => {
  test.each(['ollama', 'lmstudio', 'vllm'])('%s is free', (provider) => {
    const card = catalog.find(provider, 'any/model:7b');
    expect(card?.source).toBe('local runtime, free');
    expect(card && isFree(card)).toBe(true);
  });

  test('the sandbox has prices', () => {
    const usage = { ...NO_USAGE, inputTokens: 2_000, cachedInputTokens: 1_000, outputTokens: 1_000 };
    const costs = ['sandbox/echo', 'sandbox/large', 'sandbox/free'].map((name) => {
      const card = catalog.find('sandbox', name);
      return card && costOf(usage, card);
    });
    // 0.15 + 0.075 + 0.60; 2.50 + 1.25 + 10: thousandths of a dollar
    expect(costs).toEqual([825_000, 13_750_000, 0]);
  });
});

describe('find() with overrides', () => {
  const cheap = { inputPicoUsd: 1, outputPicoUsd: 2 };

  test('takes them before anything else', () => {
    const overridden = createCatalog({
      overrides: [
        { provider: 'openai', model: 'gpt-4o', ...cheap },
        { provider: 'my-proxy', model: 'gpt-4o', ...cheap },
        { provider: null, model: 'llama3.2:3b', ...cheap },
        { provider: null, model: 'sandbox/free', ...cheap },
      ],
      now: () => NOW,
    });
    const source = (provider: string, name: string) => overridden.find(provider, name)?.source;
    expect(source('openai', 'gpt-4o')).toBe('override openai/gpt-4o');
    expect(source('openai', 'gpt-4o-2024-08-06')).toBe('genai-prices openai/gpt-4o');
    expect(source('azure', 'gpt-4o')).toBe('genai-prices azure/gpt-4o');
    expect(source('my-proxy', 'gpt-4o')).toBe('override my-proxy/gpt-4o');
    expect(source('another-proxy', 'gpt-4o')).toBeUndefined();
    expect(source('ollama', 'llama3.2:3b')).toBe('override llama3.2:3b');
    expect(source('sandbox', 'sandbox/free')).toBe('override sandbox/free');
  });
});

describe('find() with prices that depend on the time', () => {
  test('takes the price in force from the first instant of its date', () => {
    const start = Date.parse('2025-06-10T00:00:00Z');
    expect(inputAt('openai', 'o3', start - 1)).toBe(10_000_000n);
    expect(inputAt('openai', 'o3', start)).toBe(2_000_000n);
    expect(inputAt('openai', 'o3', start - 1)).toBe(10_000_000n); // back again: the answer kept is for later
  });

  test('takes the price of the time of day, day after day', () => {
    const prices = ['00:29:59.999', '00:30:00', '16:29:59.999', '16:30:00'].map((time) =>
      inputAt('deepseek', 'deepseek-chat', Date.parse(`2026-11-20T${time}Z`)),
    );
    expect(prices).toEqual([135_000n, 270_000n, 270_000n, 135_000n]);
    expect(inputAt('deepseek', 'deepseek-chat', NOW)).toBe(270_000n);
    expect(inputAt('deepseek', 'deepseek-chat', NOW + 24 * HOUR_MS)).toBe(270_000n);
  });

  test('uses now where no time is given', () => {
    let nowMs = Date.parse('2026-11-20T16:29:59.999Z');
    const ticking = createCatalog({ now: () => nowMs });
    expect(ticking.find('deepseek', 'deepseek-chat')?.input.picoUsd).toBe(270_000n);
    nowMs += 1;
    expect(ticking.find('deepseek', 'deepseek-chat')?.input.picoUsd).toBe(135_000n);
  });

  const dated: [string, string, ConditionalPrice[]][] = [
    ['openai', 'o3'],
    ['deepseek', 'deepseek-chat'],
    ['deepseek', 'deepseek-v4-pro'],
    ['google', 'gemini-3.8-flash'],
  ].map(([provider = '', name = '']) => {
    const { prices } = model(provider, name);
    return [provider, name, Array.isArray(prices) ? prices : []];
  });

  test.each(dated)('agrees with the library every half hour: %s %s', (provider, name, prices) => {
    expect(prices.length).toBeGreaterThan(1);
    const starts = prices.flatMap(({ constraint }) =>
      constraint?.type === 'start_date' ? [Date.parse(constraint.start_date)] : [],
    );
    for (const center of [NOW, ...starts]) {
      for (let atMs = center - 50 * HOUR_MS; atMs < center + 50 * HOUR_MS; atMs += HOUR_MS / 2) {
        const expected = calcPrice({ input_tokens: 1_000_000 }, name, {
          providerId: provider,
          timestamp: new Date(atMs),
        });
        expect(Number(inputAt(provider, name, atMs))).toBe(Math.round((expected?.input_price ?? -1) * 1e6));
      }
    }
  });

  test.each(dated)(
    'holds enough for the prices of the next two hours and a quarter: %s %s',
    (provider, name) => {
      const bound = { inputTokens: 1_000, outputTokens: 1_000, choices: 1 };
      const usage = { ...NO_USAGE, inputTokens: 1_000, outputTokens: 1_000 };
      const starts = [NOW, Date.parse('2026-08-17'), Date.parse('2027-01-01'), Date.parse('2025-06-10')];
      for (const center of starts) {
        for (let heldMs = center - 30 * HOUR_MS; heldMs < center + HOUR_MS; heldMs += HOUR_MS / 4) {
          const held = catalog.find(provider, name, heldMs);
          for (let later = 0; later < 2.25; later += 0.25) {
            const settled = catalog.find(provider, name, heldMs + later * HOUR_MS);
            if (!held || !settled) throw new Error('no price');
            expect(costOf(usage, settled)).toBeLessThanOrEqual(worstCase(bound, held));
          }
        }
      }
    },
  );

  test('holds a price by the time of day only where a request may reach it', () => {
    const heldAt = (time: string) =>
      catalog.find('deepseek', 'deepseek-chat', Date.parse(`2026-11-20T${time}Z`))?.dearest.input.picoUsd;
    expect(['16:29', '16:30', '22:14', '22:15'].map(heldAt)).toEqual([
      270_000n,
      135_000n,
      135_000n,
      270_000n,
    ]);
  });

  test('does not hold a price that is months away', () => {
    const card = catalog.find('google', 'gemini-3.8-flash', NOW);
    expect(card?.dearest.output).toEqual(card?.output);
  });
});

describe('find() remembers', () => {
  test('the very card, and that there is none', () => {
    expect(catalog.find('openai', 'gpt-4o')).toBe(catalog.find('openai', 'gpt-4o'));
    expect(catalog.find('openai', 'gpt-99')).toBe(catalog.find('openai', 'gpt-99'));
    expect(catalog.find('deepseek', 'deepseek-chat', NOW)).toBe(
      catalog.find('deepseek', 'deepseek-chat', NOW + HOUR_MS),
    );
  });

  test('right, however many names it is asked for', () => {
    const small = createCatalog({ now: () => NOW });
    const before = small.find('openai', 'gpt-4o');
    for (let i = 0; i < 10_500; i += 1) expect(small.find('my-proxy', `model-${i}`)).toBeUndefined();
    expect(small.find('openai', 'gpt-4o')).toEqual(before);
  });
});

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
