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
} from '../../../src/gateway/admission/quote.ts';
import { toolFees } from '../../../src/gateway/admission/tool-fees.ts';
import { costOf } from '../../../src/pricing/cost.ts';
import { completePrices, createPriceCard, freeCard } from '../../../src/pricing/price-card.ts';
import { flatRate } from '../../../src/pricing/rate.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
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
    priceTenths: 10,
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
    { provider: 'openai', choices: 1, fees: { file_search: { nanoUsd: 10_000_000 } }, maxCalls },
  );
}
const FEE = 10_000_000;

describe('quote()', () => {
  test.each<[string, Partial<WireRequest>, Partial<QuoteOptions>, Partial<Quote>]>([
    [
      'input and output at their bounds',
      { maxOutputTokens: 20 },
      {},
      { amount: 100 * IN + 20 * OUT, least: 100 * IN + 20 * OUT, mayCut: false, mustLimit: false },
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
        mayCut: true,
        mustLimit: false,
      },
    ],
    [
      '32,000 tokens, as a limit to write, when the maximum is unknown',
      {},
      {},
      { amount: 100 * IN + 32_000 * OUT, mayCut: true, mustLimit: true },
    ],
    [
      'an output that the API cannot limit, which is never cut',
      { limitable: false },
      {},
      { amount: 100 * IN + 32_000 * OUT, least: 100 * IN + 32_000 * OUT, mayCut: false, mustLimit: false },
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
      { surcharges: { priceTenths: 10, byField: {}, unknown: 'preset' } },
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
    ['no request with a limit of its own', { maxOutputTokens: 20 }, 1_000_000_000, undefined],
  ])('fits %s', (_, fields, room, expected) => {
    const fit = fitInto(quoteOf(fields), room, 50);
    if (expected) expect(fit).toMatchObject(expected);
    else expect(fit).toBeUndefined();
  });

  test('cuts tool calls before output', () => {
    const model = { provider: 'openai', model: 'gpt-4o', tools: searchFees(3) };
    const result = quoteOf({ maxOutputTokens: 20 }, model);
    const round = FEE + 128_000 * IN;
    expect(fitInto(result, result.amount, 50)).toEqual({ outputTokens: 20, calls: 3, amount: result.amount });
    expect(fitInto(result, result.amount - 1, 50)).toMatchObject({ calls: 2, amount: result.amount - round });
    expect(fitInto(result, result.amount - 2 * round, 50)).toMatchObject({ calls: 1, outputTokens: 20 });
    expect(fitInto(result, result.amount - 2 * round - 1, 50)).toBeUndefined();
  });

  test('never exceeds the room, and covers all usage within the limits', () => {
    const cases = fc
      .record({
        card: anyCard,
        room: fc.integer({ min: 0, max: 100_000_000_000 }),
        choices: fc.integer({ min: 1, max: 4 }),
      })
      .chain((rest) => {
        const fit = fitInto(quoteOf({ choices: rest.choices }, { card: rest.card }), rest.room, 50);
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
