import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { priceProfile } from '../../../src/gateway/admission/quote-request.ts';
import type { RequestContext } from '../../../src/gateway/context/request-context.ts';
import { createCatalog } from '../../../src/pricing/catalog.ts';
import { costOf, worstCase } from '../../../src/pricing/cost.ts';
import { cardFor, type PriceCard, scaleCard } from '../../../src/pricing/price-card.ts';
import type { PriceProfile } from '../../../src/pricing/price-profile.ts';
import { rateAt } from '../../../src/pricing/rate.ts';
import { PRESETS } from '../../../src/providers/presets.ts';
import type { TokenUsage } from '../../../src/usage.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import type { WireRequest } from '../../../src/wire/request/wire-request.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { usageWithin } from '../../pricing/arbitraries.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const catalog = createCatalog({
  now: () => NOW,
  overrides: [{ provider: null, model: 'claude-own', inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 }],
});

interface Case {
  provider?: string;
  model?: string;
  /** The provider's address, where it is not its own. */
  origin?: string;
  wire?: Wire;
  headers?: Record<string, string>;
}

/** A card and the profile of a request at a target. */
function profiled(
  body: object,
  { provider = 'anthropic', model = 'claude-opus-4-7', ...more }: Case = {},
  parsed?: WireRequest,
) {
  const preset = PRESETS[provider];
  const wire = more.wire ?? (provider === 'anthropic' ? messagesWire : chatWire);
  const card = catalog.find(provider, model);
  if (!card) throw new Error(`no price for ${provider}/${model}`);
  const request =
    parsed ??
    wire.parse(
      Buffer.from(
        JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...body }),
      ),
    );
  const target = {
    model,
    provider: {
      name: provider,
      wire: preset?.wire ?? 'openai',
      origin: more.origin ?? (preset?.baseUrl ? new URL(preset.baseUrl).origin : 'https://proxy'),
      basePath: '/v1',
      outputLimit: 'max_tokens',
      local: false,
      stopsOnHangUp: false,
      authHeaders: [],
      keySource: 'none',
      source: 'config',
    },
  } as const;
  // Only the body, by its wire, and the headers are read.
  const context = {
    wire,
    request,
    exchange: { request: { headers: more.headers ?? {} } },
  } as unknown as RequestContext;
  const profile = priceProfile(context, target, card);
  return { card, profile, held: cardFor(card, profile) };
}

/** The price of an input token that is held, in dollars per million. */
function heldInput(body: object, on: Case, inputTokens = 1_000): number {
  return Number(rateAt(profiled(body, on).held.dearest.input, inputTokens)) / 1e6;
}

const FIVE = { system: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] };
const HOUR = { system: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }] };
const OPUS = { provider: 'anthropic', model: 'claude-opus-4-7' };
const ROUTED = { provider: 'openrouter', model: 'anthropic/claude-opus-4.7' };

describe('priceProfile()', () => {
  // C1 to C3 of the research: who writes to a cache, and at what price.
  test.each<[string, object, Case, number]>([
    ['Anthropic itself, no marks', {}, OPUS, 5],
    ['Anthropic itself, five minutes', FIVE, OPUS, 6.25],
    ['Anthropic itself, an hour', HOUR, OPUS, 10],
    ['Anthropic itself, both', { ...HOUR, cache_control: { type: 'ephemeral' } }, OPUS, 10],
    ['Anthropic itself, a conversation that it stores', { thread: 'thread_1' }, OPUS, 10],
    [
      'Anthropic itself, a document',
      { messages: [{ role: 'user', content: [{ type: 'document' }] }] },
      OPUS,
      5,
    ],
    ['a relay of Anthropic, no marks', {}, { ...OPUS, origin: 'https://relay' }, 10],
    ['a relay of Anthropic, five minutes', FIVE, { ...OPUS, origin: 'https://relay' }, 6.25],
    ['a relay of Anthropic, an hour', HOUR, { ...OPUS, origin: 'https://relay' }, 10],
    ["Anthropic's chat completions, no marks", {}, { ...OPUS, wire: chatWire, origin: 'https://relay' }, 10],
    ['OpenRouter, no marks', {}, ROUTED, 6.25],
    ['OpenRouter, five minutes', FIVE, ROUTED, 6.25],
    ['OpenRouter, an hour', HOUR, ROUTED, 10],
    [
      'OpenRouter, a price of storage on top of the input',
      {},
      { provider: 'openrouter', model: 'google/gemini-2.5-flash' },
      0.3833,
    ],
    [
      'OpenRouter, the same listed alone',
      {},
      { provider: 'openrouter', model: 'google/gemini-3-flash-preview' },
      0.58333334,
    ],
    ['GPT-5.6, which writes unasked', {}, { provider: 'openai', model: 'gpt-5.6-sol' }, 5],
    ['GPT-6, which writes unasked', {}, { provider: 'openai', model: 'gpt-6-sol' }, 2.5],
    ['GPT-5, whose writes are free', {}, { provider: 'openai', model: 'gpt-5' }, 1.25],
    ['GPT-5, whatever a request marks', HOUR, { provider: 'openai', model: 'gpt-5' }, 1.25],
    ['a price of the user for Claude, no marks', {}, { provider: 'mine', model: 'claude-own' }, 2],
    ['a price of the user for Claude, five minutes', FIVE, { provider: 'mine', model: 'claude-own' }, 1.25],
  ])('holds input at %s', (_, body, on, usdPerMillion) => {
    expect(heldInput(body, on)).toBeCloseTo(usdPerMillion, 5);
  });

  // C4: prices of long inputs.
  const SONNET = { provider: 'anthropic', model: 'claude-sonnet-4-5' };
  const BETA = { headers: { 'anthropic-beta': 'a, context-1m-2025-08-07' } };
  test.each<[string, object, Case, number, number]>([
    ['a long input that was not asked for', {}, SONNET, 300_000, 3],
    ['a long input with the beta', {}, { ...SONNET, ...BETA }, 300_000, 6],
    ['a long input with the beta in the body', { betas: ['context-1m-2025-08-07'] }, SONNET, 300_000, 6],
    [
      'a long input of several rounds',
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      SONNET,
      300_000,
      6,
    ],
    ['a short input with the beta', {}, { ...SONNET, ...BETA }, 199_999, 3],
    [
      'a long input at a host of the model',
      {},
      { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.5' },
      300_000,
      7.5,
    ],
    ['a long input of another maker', {}, { provider: 'openai', model: 'gpt-5.4' }, 272_000, 5],
    ['a short input of another maker', {}, { provider: 'openai', model: 'gpt-5.4' }, 271_990, 2.5],
  ])('holds %s', (_, body, on, inputTokens, usdPerMillion) => {
    expect(heldInput(body, on, inputTokens)).toBe(usdPerMillion);
  });

  test('holds audio where it can occur', () => {
    const gemini = { provider: 'google', model: 'gemini-2.5-flash' };
    const part = { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } };
    const spoken = { messages: [{ role: 'user', content: [part] }] };
    expect([heldInput({}, gemini), heldInput(spoken, gemini)]).toEqual([0.3, 1]);
    expect(heldInput({}, { provider: 'openai', model: 'gpt-audio' })).toBe(32);
  });

  test('leaves the prices that settle as they are', () => {
    const { card, held } = profiled({});
    expect({ ...held, dearest: undefined }).toEqual({ ...card, dearest: undefined });
  });
});

/** Usage that a request of this profile can have. */
function usageOf(profile: PriceProfile, usage: TokenUsage): TokenUsage {
  const { cacheWrites, audioInput, audioOutput } = profile;
  return {
    ...usage,
    cacheWriteTokens: cacheWrites === 'none' ? 0 : usage.cacheWriteTokens,
    cacheWrite1hTokens: cacheWrites === '1h' ? usage.cacheWrite1hTokens : 0,
    audioInputTokens: audioInput ? usage.audioInputTokens : 0,
    cachedAudioInputTokens: audioInput ? usage.cachedAudioInputTokens : 0,
    audioOutputTokens: audioOutput ? usage.audioOutputTokens : 0,
  };
}

const TARGETS: Case[] = [
  OPUS,
  { ...OPUS, origin: 'https://relay' },
  { provider: 'anthropic', model: 'claude-sonnet-4-5', headers: { 'anthropic-beta': 'context-1m' } },
  ROUTED,
  { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.5' },
  { provider: 'openai', model: 'gpt-6-sol' },
  { provider: 'openai', model: 'gpt-5.4' },
  { provider: 'openai', model: 'gpt-audio' },
  { provider: 'google', model: 'gemini-2.5-flash' },
  { provider: 'mine', model: 'claude-own' },
];
const BODIES = [{}, FIVE, HOUR, { modalities: ['text', 'audio'] }];

/** What a provider does with a request, whatever gw believes. */
function truth(body: object, { provider, origin }: Case): PriceProfile {
  const isMarkedForHour = body === HOUR;
  const writesUnasked = provider !== 'anthropic' || origin !== undefined;
  return {
    cacheWrites: isMarkedForHour ? '1h' : body === FIVE || writesUnasked ? 'default' : 'none',
    audioInput: false,
    audioOutput: 'modalities' in body,
    longInput: true,
  };
}

type Hold = (held: PriceCard, at: { card: PriceCard; profile: PriceProfile }) => PriceCard;
const REGION_FACTOR = 1.1;

/** Fails where a request costs more than the hold of its bound. */
function checkHolds(hold: Hold): void {
  const cases = fc
    .record({
      on: fc.constantFrom(...TARGETS),
      body: fc.constantFrom(...BODIES),
      inputTokens: fc.oneof(fc.nat(1_000), fc.integer({ min: 199_000, max: 400_000 })),
      outputTokens: fc.nat(50_000),
      isRegional: fc.boolean(),
    })
    .chain((each) =>
      fc.tuple(
        fc.constant(each),
        fc.oneof(usageWithin(each.inputTokens, each.outputTokens), allOfOneKind(each)),
      ),
    );
  fc.assert(
    fc.property(cases, ([{ on, body, inputTokens, outputTokens, isRegional }, usage]) => {
      const { card, profile, held } = profiled(body, on);
      const factor = isRegional && on.provider === 'anthropic' ? REGION_FACTOR : 1;
      const cost = costOf(usageOf(truth(body, on), usage), scaleCard(card, factor));
      // gw has not heard of the region yet.
      const own = on.provider === 'anthropic' ? scaleCard(held, REGION_FACTOR) : held;
      const worst = worstCase({ inputTokens, outputTokens, choices: 1 }, hold(own, { card, profile }));
      expect(cost).toBeLessThanOrEqual(worst);
    }),
    { numRuns: 3_000 },
  );
}

/** The dearest splits: all input of one kind. */
function allOfOneKind({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
  const none = {
    inputTokens,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    audioInputTokens: 0,
    cachedAudioInputTokens: 0,
    outputTokens,
    reasoningTokens: 0,
    audioOutputTokens: 0,
    imageInputTokens: 0,
    cachedImageInputTokens: 0,
    imageOutputTokens: 0,
  };
  return fc.constantFrom<TokenUsage>(
    none,
    { ...none, cacheWriteTokens: inputTokens },
    { ...none, cacheWrite1hTokens: inputTokens },
    { ...none, cacheWriteTokens: inputTokens >> 1, cacheWrite1hTokens: inputTokens - (inputTokens >> 1) },
    { ...none, cachedInputTokens: inputTokens },
    { ...none, audioOutputTokens: outputTokens },
  );
}

describe('the hold of a request at its own prices', () => {
  test('covers any usage that the request can have', () => {
    expect(() => checkHolds((held) => held)).not.toThrow();
  });

  const at =
    (change: Partial<PriceProfile>): Hold =>
    (_, { card, profile }) =>
      scaleCard(cardFor(card, { ...profile, ...change }), REGION_FACTOR);
  test.each<[string, Hold]>([
    [
      'takes an hour for five minutes',
      (held, { card, profile }) =>
        profile.cacheWrites === '1h' ? at({ cacheWrites: 'default' })(held, { card, profile }) : held,
    ],
    [
      'takes nothing for unmarked writes',
      (held, { card, profile }) =>
        profile.cacheWrites === 'default' ? at({ cacheWrites: 'none' })(held, { card, profile }) : held,
    ],
    ['has no price for the region', (_, { card, profile }) => cardFor(card, profile)],
    ['takes a long input for a short one', at({ longInput: false })],
    ['takes audio for text', at({ audioInput: false, audioOutput: false })],
  ])('fails that test if it %s', (_, broken) => {
    expect(() => checkHolds(broken)).toThrow();
  });
});
