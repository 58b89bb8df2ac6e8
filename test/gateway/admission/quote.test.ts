import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  costsNothing,
  feesWith,
  fitInto,
  inputWith,
  type Quote,
  type QuoteOptions,
  quote,
  shortestQuote,
} from '../../../src/gateway/admission/quote.ts';
import { toolFees } from '../../../src/gateway/admission/tool-fees.ts';
import { costOf } from '../../../src/pricing/cost.ts';
import { completePrices, createPriceCard, freeCard } from '../../../src/pricing/price-card.ts';
import { flatRate } from '../../../src/pricing/rate.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../../src/wire/apis/responses.ts';
import type { WireRequest } from '../../../src/wire/request/wire-request.ts';
import { anyCard, usageWithin } from '../../pricing/arbitraries.ts';

/** $1 a million in, $2 out: 1,000 and 2,000 nano-dollars a token. */
const CARD = createPriceCard(
  'test',
  completePrices({ input: flatRate(1_000_000n), output: flatRate(2_000_000n) }, 'm'),
);
const [IN, OUT] = [1_000, 2_000];
const DEEPSEEK_MAXIMUM = 393_216;

function requestWith(fields: Partial<WireRequest>): WireRequest {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
  return { ...chatWire.parse(Buffer.from(body)), ...fields };
}

function quoteOf(fields: Partial<WireRequest> = {}, options: Partial<QuoteOptions> = {}): Quote {
  return quote(requestWith(fields), {
    provider: 'mock',
    model: 'test-model',
    card: CARD,
    listed: CARD,
    priceFactor: 1,
    inputTokens: 100,
    inputBound: 'bytes',
    minOutputTokens: 50,
    ...options,
  });
}

/** The fees of a file search at one cent a call, of which a request may make up to `maxCalls`. */
function searchFees(maxCalls: number) {
  const tools = [{ name: 'file_search', field: 'tools' }];
  return toolFees(
    { tools, limit: 'all' },
    {
      provider: 'openai',
      choices: 1,
      fees: { file_search: { nanoUsd: 10_000_000 } },
      maxCalls,
      codeResultTokens: 25_000,
    },
  );
}
const FEE = 10_000_000;

describe('quote()', () => {
  test.each<[string, Partial<WireRequest>, Partial<QuoteOptions>, Partial<Quote>]>([
    [
      'input and output at their bounds',
      { maxOutputTokens: 20 },
      {},
      { amount: 100 * IN + 20 * OUT, least: 100 * IN + 20 * OUT, mayLower: true, mustLimit: false },
    ],
    [
      "the request's own limit, and the minimum as the least",
      { maxOutputTokens: 32_000 },
      {},
      { amount: 100 * IN + 32_000 * OUT, least: 100 * IN + 50 * OUT, mayLower: true, mustLimit: false },
    ],
    [
      'the output of each choice, but the input once',
      { maxOutputTokens: 20, choices: 3 },
      {},
      { amount: 100 * IN + 60 * OUT },
    ],
    [
      "the model's maximum without a limit of the request, and the minimum as the least",
      {},
      { provider: 'deepseek', model: 'deepseek-chat' },
      {
        amount: 100 * IN + DEEPSEEK_MAXIMUM * OUT,
        least: 100 * IN + 50 * OUT,
        mayLower: true,
        mustLimit: false,
      },
    ],
    [
      '32,000 tokens, as a limit to write, when the maximum is unknown',
      {},
      {},
      { amount: 100 * IN + 32_000 * OUT, mayLower: true, mustLimit: true },
    ],
    [
      'an output that the API cannot limit, which is never lowered',
      { limitable: false },
      {},
      { amount: 100 * IN + 32_000 * OUT, least: 100 * IN + 32_000 * OUT, mayLower: false, mustLimit: false },
    ],
    [
      'the reasoning that was asked for, in the least as well',
      { reasoningTokens: 40_000 },
      {},
      { amount: 100 * IN + 40_000 * OUT, least: 100 * IN + 40_000 * OUT },
    ],
    [
      'the minimum on top of the reasoning',
      { reasoningTokens: 1_000 },
      {},
      { amount: 100 * IN + 32_000 * OUT, least: 100 * IN + 1_050 * OUT },
    ],
    [
      'no reasoning in the least of makers whose limit covers it',
      { reasoningTokens: 1_000 },
      { provider: 'openai', model: 'gpt-4o' },
      { amount: 100 * IN + 16_384 * OUT, least: 100 * IN + 50 * OUT },
    ],
    [
      'but that of a field that is not of their API',
      { reasoningTokens: 1_000, foreignThinking: true },
      { provider: 'openai', model: 'gpt-4o' },
      { amount: 100 * IN + 16_384 * OUT, least: 100 * IN + 1_050 * OUT },
    ],
    [
      'output beyond the limit',
      { maxOutputTokens: 20, beyondLimit: 7, choices: 2 },
      {},
      { amount: 100 * IN + 2 * 27 * OUT },
    ],
    [
      'the fee of every tool call, and a full context again for each of its rounds',
      { maxOutputTokens: 20 },
      { provider: 'openai', model: 'gpt-4o', tools: searchFees(3) },
      { amount: (100 + 3 * 128_000) * IN + 20 * OUT + 3 * FEE, least: (100 + 128_000) * IN + 20 * OUT + FEE },
    ],
    [
      'nothing at a price of zero',
      { maxOutputTokens: 20 },
      { card: freeCard('test') },
      { amount: 0, least: 0 },
    ],
    ['no amount without a price', {}, { card: undefined }, { amount: 0, least: 0, unpriced: true }],
    [
      'no worst case with an unknown surcharge',
      { surcharges: { terms: {}, fallbacks: [], unknown: 'preset' } },
      {},
      { unpriced: true },
    ],
  ])('holds %s', (_, fields, options, expected) => {
    expect(quoteOf(fields, options)).toMatchObject({ unpriced: false, ...expected });
  });

  test('is never below the cost of usage within its bounds', () => {
    const bounds = fc.record({
      card: anyCard,
      inputTokens: fc.nat(500),
      maxOutputTokens: fc.nat(300),
      choices: fc.integer({ min: 1, max: 4 }),
      beyondLimit: fc.nat(50),
      calls: fc.nat(3),
    });
    const cases = bounds.chain(({ calls, card, inputTokens, ...fields }) => {
      const tools = calls > 0 ? searchFees(calls) : undefined;
      const result = quoteOf(fields, { card, inputTokens, tools });
      const mostInput = inputWith(result, result.tools?.calls);
      const mostOutput = (result.outputTokens + result.beyondLimit) * result.choices;
      const maximum = { ...NO_USAGE, inputTokens: mostInput, outputTokens: mostOutput };
      const usage = fc.oneof(fc.constant(maximum), usageWithin(mostInput, mostOutput));
      return fc.tuple(fc.constant({ result, card }), usage, fc.nat(calls));
    });
    fc.assert(
      fc.property(cases, ([{ result, card }, usage, calls]) => {
        expect(costOf(usage, card) + feesWith(result, calls)).toBeLessThanOrEqual(result.amount);
      }),
    );
  });
});

describe('the least output', () => {
  const body = (fields: object) => Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9_000, ...fields }));
  const messages = [{ role: 'user', content: 'Hi' }];
  const chat = (fields: object) => chatWire.parse(body({ messages, ...fields }));
  const responses = (limit: number, fields: object = {}) =>
    responsesWire.parse(body({ input: 'Hi', max_output_tokens: limit, ...fields }));
  const anthropic = (fields: object) => messagesWire.parse(body({ messages, ...fields }));
  const thinking = (tokens: number) => ({ thinking: { type: 'enabled', budget_tokens: tokens } });
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const schema = { type: 'json_schema', schema: {} };

  test.each<[string, WireRequest, number, number]>([
    ['a text: the minimum', chat({}), 256, 256],
    ['a limit below the minimum: that limit', chat({ max_tokens: 100 }), 256, 100],
    ['the larger of two limits', chat({ max_completion_tokens: 100, max_tokens: 300 }), 1_000, 300],
    ['tools: four times the minimum', chat({ tools }), 256, 1_024],
    ['tools without a limit: the minimum', chat({ tools, max_tokens: null }), 256, 256],
    ['tools, and a limit below that', chat({ tools, max_tokens: 500 }), 256, 500],
    ['functions', chat({ functions: [{ name: 'f' }] }), 256, 1_024],
    ['an empty list of tools', chat({ tools: [] }), 256, 256],
    ['tools that are null', chat({ tools: null }), 256, 256],
    ['a schema', chat({ response_format: { type: 'json_schema', json_schema: {} } }), 256, 1_024],
    ['any JSON', chat({ response_format: { type: 'json_object' } }), 256, 1_024],
    ['a format that is text', chat({ response_format: { type: 'text' } }), 256, 256],
    ['a schema of responses', responses(9_000, { text: { format: schema } }), 256, 1_024],
    ['verbosity of responses', responses(9_000, { text: { verbosity: 'low' } }), 256, 256],
    ['the least that responses accept', responses(9_000), 1, 16],
    ['responses with less than they accept', responses(8), 1, 8],
    ['a schema at Anthropic', anthropic({ output_config: { format: schema } }), 256, 1_024],
    ['an effort at Anthropic', anthropic({ output_config: { effort: 'low' } }), 256, 256],
    ['thinking: its budget and the minimum', anthropic(thinking(2_000)), 256, 2_256],
    ['thinking and tools', anthropic({ ...thinking(2_000), tools }), 256, 3_024],
    ['a budget next to the limit', anthropic(thinking(8_999)), 256, 9_000],
    ['a budget above the limit', anthropic(thinking(20_000)), 256, 9_000],
    ['adaptive thinking', anthropic({ thinking: { type: 'adaptive' } }), 256, 256],
    ['compaction, which has no limit', compactWire.parse(body({ input: 'Hi' })), 256, 32_000],
    ['embeddings, which have no output', embeddingsWire.parse(body({ input: 'Hi' })), 256, 0],
  ])('of %s', (_, request, minOutputTokens, expected) => {
    const prices = { provider: 'mock', model: 'test-model', card: CARD, listed: CARD, priceFactor: 1 };
    const result = quote(request, { ...prices, inputTokens: 100, inputBound: 'bytes', minOutputTokens });
    expect(result.leastOutputTokens).toBe(expected);
    expect(result.least).toBe(100 * IN + (expected + result.beyondLimit) * OUT);
    const fit = fitInto(result, result.least);
    if (result.mayLower) expect(fit?.outputTokens).toBe(expected);
    else expect(fit).toBeUndefined();
    expect(fitInto(result, result.least - 1)).toBeUndefined();
  });
});

test('the shortest quote gives tools and JSON no more than a text, and reasoning what it asks for', () => {
  const options = { provider: 'anthropic', minOutputTokens: 256 };
  const prices = { ...options, model: 'test-model', card: CARD, listed: CARD, priceFactor: 1 };
  const shortest = (fields: object) => {
    const body = { model: 'm', max_tokens: 9_000, messages: [{ role: 'user', content: 'Hi' }], ...fields };
    const request = messagesWire.parse(Buffer.from(JSON.stringify(body)));
    const given = quote(request, { ...prices, inputTokens: 100, inputBound: 'bytes' });
    return { given, least: shortestQuote(given, request, options) };
  };
  const tools = [{ name: 'f', input_schema: {} }];
  const { given, least } = shortest({ tools });
  expect([given.leastOutputTokens, least.leastOutputTokens]).toEqual([1_024, 256]);
  expect(least).toMatchObject({ amount: given.amount, least: 100 * IN + 256 * OUT });
  const thinking = { type: 'enabled', budget_tokens: 2_000 };
  expect(shortest({ tools, thinking }).least.leastOutputTokens).toBe(2_256);
  const text = shortest({});
  expect(text.least).toBe(text.given);
});

describe('fitInto()', () => {
  const COST_OF_MINIMUM = 100 * IN + 50 * OUT;
  test.each<[string, Partial<WireRequest>, number, object | undefined]>([
    ['all of the output', {}, 100 * IN + 40_000 * OUT, { outputTokens: 32_000 }],
    ['as much output as there is room for', {}, 100 * IN + 700 * OUT + 1_999, { outputTokens: 700 }],
    ['the minimum', {}, COST_OF_MINIMUM, { outputTokens: 50 }],
    ['nothing below the minimum', {}, COST_OF_MINIMUM - 1, undefined],
    [
      'output beyond the limit, apart from the limit',
      { beyondLimit: 60 },
      100 * IN + 700 * OUT,
      { outputTokens: 640 },
    ],
    [
      "as much of the request's own limit",
      { maxOutputTokens: 32_000 },
      100 * IN + 700 * OUT,
      { outputTokens: 700 },
    ],
    [
      'no less than an own limit below the minimum',
      { maxOutputTokens: 20 },
      100 * IN + 20 * OUT - 1,
      undefined,
    ],
    ['no output that the API cannot limit', { limitable: false }, 100 * IN + 700 * OUT, undefined],
  ])('fits %s', (_, fields, room, expected) => {
    const fit = fitInto(quoteOf(fields), room);
    if (expected) expect(fit).toMatchObject(expected);
    else expect(fit).toBeUndefined();
  });

  test('cuts tool calls before output', () => {
    const model = { provider: 'openai', model: 'gpt-4o', tools: searchFees(3) };
    const result = quoteOf({ maxOutputTokens: 20 }, model);
    const round = FEE + 128_000 * IN;
    expect(fitInto(result, result.amount)).toEqual({ outputTokens: 20, calls: 3, amount: result.amount });
    expect(fitInto(result, result.amount - 1)).toMatchObject({ calls: 2, amount: result.amount - round });
    expect(fitInto(result, result.amount - 2 * round)).toMatchObject({ calls: 1, outputTokens: 20 });
    expect(fitInto(result, result.amount - 2 * round - 1)).toBeUndefined();
  });

  test('never exceeds the room, and covers all usage within the limits', () => {
    const cases = fc
      .record({
        card: anyCard,
        room: fc.integer({ min: 0, max: 100_000_000_000 }),
        choices: fc.integer({ min: 1, max: 4 }),
      })
      .chain((rest) => {
        const fit = fitInto(quoteOf({ choices: rest.choices }, { card: rest.card }), rest.room);
        const outputTokens = (fit?.outputTokens ?? 0) * rest.choices;
        const maximum = { ...NO_USAGE, inputTokens: 100, outputTokens };
        const usage = fc.oneof(fc.constant(maximum), usageWithin(100, outputTokens));
        return fc.tuple(fc.constant({ ...rest, fit }), usage);
      });
    fc.assert(
      fc.property(cases, ([{ card, room, fit }, usage]) => {
        if (!fit) return;
        expect(fit.amount).toBeLessThanOrEqual(room);
        expect(costOf(usage, card)).toBeLessThanOrEqual(fit.amount);
      }),
    );
  });
});

describe('costsNothing()', () => {
  test.each<[string, boolean, Partial<QuoteOptions>]>([
    ['a free model', true, { card: freeCard('test') }],
    ['a free model with tools', false, { card: freeCard('test'), tools: searchFees(1) }],
    ['a priced model', false, {}],
    ['a model of unknown price', false, { card: undefined }],
  ])('tells of %s: %s', (_, expected, options) => {
    expect(costsNothing(quoteOf({}, options))).toBe(expected);
  });
});
