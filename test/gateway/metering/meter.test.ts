import { describe, expect, test } from 'vitest';
import { admit } from '../../../src/gateway/admission/admit.ts';
import { meterAtBound, meterCall } from '../../../src/gateway/metering/meter.ts';
import type { MeteredAnswer, Metering } from '../../../src/gateway/metering/metered.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { openGatewayParts } from '../../support/gateway-parts.ts';

const MODEL = 'mock/test-model';
/** $1 a million tokens in, $2 out. */
const costOf = (inputTokens: number, outputTokens: number) => inputTokens * 1_000 + outputTokens * 2_000;

const ANSWER: MeteredAnswer = {
  status: 200,
  usage: { prompt_tokens: 9, completion_tokens: 5 },
  usageIs: undefined,
  toolResults: { count: 0, bytes: 0 },
  isReadable: true,
  isStream: false,
  firstByteAt: 100,
  lastByteAt: 100,
  receivedText: () => ['Hello there'],
  unended: '',
  firstEvents: Buffer.alloc(0),
  unsent: undefined,
};

interface StartOptions {
  model?: string;
  maxTokens?: number;
  budget?: boolean;
  /** Dollars of the daily budget. */
  capUsd?: number;
  stream?: boolean;
  choices?: number;
}

/** Admits a request on a real ledger, and meters answers to it. */
async function start({
  model = MODEL,
  maxTokens = 20,
  budget = true,
  capUsd = 100,
  stream = false,
  choices = 1,
}: StartOptions = {}) {
  const parts = await openGatewayParts(budget ? { budget: { period: 'daily', capUsd } } : {});
  const { gateway } = parts;
  const context = parts.contextOf({
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: maxTokens,
    n: choices,
    stream,
  });
  const target = await parts.targetOf(model);
  const admitted = await admit(gateway, context, target, gateway.calendar());
  const meteringOf = (answer: Partial<MeteredAnswer>, rest: Partial<Metering> = {}): Metering => ({
    context,
    target,
    admitted,
    relay: { ...ANSWER, ...answer },
    sentAt: 0,
    whole: true,
    mayGoOn: false,
    ...rest,
  });
  return {
    ...parts,
    admitted,
    meteringOf,
    meter: async (answer: Partial<MeteredAnswer> = {}, rest: Partial<Metering> = {}) =>
      meterCall(gateway, meteringOf(answer, rest), { kind: 'complete' }),
  };
}

/** The attempt at a host that stops when its client hangs up, or at one that does not. */
function at(stopsOnHangUp: boolean, metering: Metering): Metering {
  const { target } = metering;
  return { ...metering, target: { ...target, provider: { ...target.provider, stopsOnHangUp } } };
}

describe('meterCall()', () => {
  test('prices the usage that the provider reports', async () => {
    const { meter, warnings } = await start();
    expect(await meter()).toMatchObject({
      usage: { inputTokens: 9, outputTokens: 5 },
      costNanoUsd: costOf(9, 5),
      flags: 0,
    });
    expect(warnings).toEqual([]);
  });

  test('books nothing for a call that was never sent', async () => {
    const { gateway, meteringOf } = await start();
    expect(await meterCall(gateway, meteringOf({}), { kind: 'aborted', sent: false })).toMatchObject({
      usage: { inputTokens: 0, outputTokens: 0 },
      costNanoUsd: 0,
      flags: 0,
    });
  });

  test.each<[string, unknown, number]>([
    ['nothing for an error status', undefined, 0],
    ['what an error status reports', ANSWER.usage, costOf(9, 5)],
  ])('books %s', async (_, usage, costNanoUsd) => {
    const { meter } = await start();
    expect(await meter({ status: 500, usage })).toMatchObject({ costNanoUsd, flags: 0 });
  });

  test('estimates the usage of an answer that reports none', async () => {
    const { meter, admitted } = await start();
    const { usage, costNanoUsd, flags } = await meter({ usage: undefined });
    expect(flags).toBe(FLAGS.estimated);
    expect(usage.outputTokens).toBeGreaterThan(0);
    // Without a tokenizer for the model, each byte may be a token.
    expect(usage.outputTokens).toBeLessThanOrEqual('Hello there'.length);
    expect(costNanoUsd).toBe(costOf(usage.inputTokens, usage.outputTokens));
    expect(costNanoUsd).toBeLessThan(admitted.heldNanoUsd);
  });

  test.each<[string, { stops?: boolean; stream?: boolean; mayGoOn?: boolean; choices?: number }, number]>([
    // Two seconds since the sending, one to notice: 500 tokens a second.
    ['a stream of a host that stops: what can have been generated until it noticed', {}, 1_500],
    ['several answers of one: as much of each', { choices: 3 }, 4_500],
    ['a stream that the provider ended with an error: the time until then', { mayGoOn: false }, 1_000],
    ['the same at a host that goes on', { mayGoOn: false, stops: false }, 1_000],
    ['a stream of a host that goes on: the whole limit', { stops: false }, 10_000],
    ['another answer of a host that stops: the whole limit', { stream: false }, 10_000],
    ['another answer of a host that goes on', { stream: false, stops: false }, 10_000],
    ['several answers of a host that goes on: the limit of each', { choices: 3, stops: false }, 30_000],
  ])('books of %s', async (_, { stops = true, stream = true, mayGoOn = true, choices = 1 }, expected) => {
    const { clock, meteringOf, gateway, admitted } = await start({ maxTokens: 10_000, stream, choices });
    await clock.advance(2_000);
    const broken = { usage: undefined, isStream: stream, firstByteAt: 500, lastByteAt: 1_000 };
    const metering = meteringOf(broken, { whole: false, mayGoOn });
    const { usage, costNanoUsd } = await meterCall(gateway, at(stops, metering), { kind: 'complete' });
    expect(usage.outputTokens).toBe(expected);
    expect(costNanoUsd).toBe(costOf(usage.inputTokens, expected));
    expect(costNanoUsd).toBeLessThanOrEqual(admitted.heldNanoUsd);
  });

  test('books more than time allows where more was seen, and what may have come since', async () => {
    const { clock, meteringOf, gateway } = await start({ maxTokens: 10_000, stream: true });
    await clock.advance(2_000);
    const answer = { isStream: true, firstByteAt: 500, lastByteAt: 1_000, usage: undefined };
    const receivedText = () => ['x'.repeat(5_000)];
    const metering = meteringOf({ ...answer, receivedText }, { whole: false, mayGoOn: true });
    const { usage } = await meterCall(gateway, at(true, metering), { kind: 'complete' });
    expect(usage.outputTokens).toBe(5_000 + 1_000);
  });

  test('books a limit that was lowered as it was sent, whatever is held', async () => {
    const { meteringOf, gateway, admitted } = await start({ maxTokens: 10_000, capUsd: 0.01 });
    const { limit = 0 } = admitted;
    expect(limit).toBeLessThan(10_000);
    const more = { ...admitted, heldNanoUsd: 10 * admitted.heldNanoUsd };
    const metering = meteringOf({ usage: undefined }, { whole: false, mayGoOn: true, admitted: more });
    const { usage, costNanoUsd } = await meterCall(gateway, metering, { kind: 'complete' });
    expect(usage.outputTokens).toBe(limit);
    expect(costNanoUsd).toBeLessThanOrEqual(admitted.heldNanoUsd);
    expect(costNanoUsd).toBe(costOf(usage.inputTokens, limit));
  });

  test('books the input of a broken-off answer at the dearest price, unless it was reported', async () => {
    const { setPrice, gateway, contextOf, targetOf } = await start();
    await setPrice({ model: 'test-model', inputPicoUsd: 1e6, cacheWritePicoUsd: 2e6, outputPicoUsd: 2e6 });
    const context = contextOf({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 20 });
    const target = await targetOf(MODEL);
    const admitted = await admit(gateway, context, target, gateway.calendar());
    const costOfCut = async (answer: Partial<MeteredAnswer>) => {
      const relay = { ...ANSWER, ...answer };
      const metering = { context, target, admitted, relay, sentAt: 0, whole: false, mayGoOn: true };
      return meterCall(gateway, metering, { kind: 'complete' });
    };
    const unknown = await costOfCut({ usage: undefined });
    expect(unknown.costNanoUsd).toBe(costOf(2 * unknown.usage.inputTokens, 20));
    const reported = await costOfCut({ usage: { prompt_tokens: 9 }, usageIs: 'opening' });
    expect(reported.costNanoUsd).toBe(costOf(9, 20));
  });

  test('keeps an early report of the input, and estimates the output after it', async () => {
    const { meter } = await start();
    const metered = await meter({ usage: { prompt_tokens: 9, completion_tokens: 1 }, usageIs: 'opening' });
    expect(metered).toMatchObject({ usage: { inputTokens: 9 }, flags: FLAGS.estimated });
    expect(metered.usage.outputTokens).toBeGreaterThan(1);
  });

  test('never estimates above the hold, and flags an answer that was measurably longer than allowed', async () => {
    const { meter, admitted, warnings } = await start({ maxTokens: 20 });
    const metered = await meter({ usage: undefined, receivedText: () => ['hello world '.repeat(500)] });
    expect(metered).toMatchObject({
      costNanoUsd: admitted.heldNanoUsd,
      flags: FLAGS.estimated | FLAGS.overrun,
    });
    expect(warnings).toEqual([expect.stringContaining('wrote more than its output limit')]);
  });

  test('books reported usage above the hold, since the provider bills it', async () => {
    const { meter, admitted } = await start();
    const { costNanoUsd } = await meter({ usage: { prompt_tokens: 9, completion_tokens: 5_000 } });
    expect(costNanoUsd).toBe(costOf(9, 5_000));
    expect(costNanoUsd).toBeGreaterThan(admitted.heldNanoUsd);
  });

  test('cuts usage that no model can have to the most that is possible', async () => {
    const { meter, admitted, warnings } = await start();
    const metered = await meter({ usage: { prompt_tokens: 1e15, completion_tokens: 1e15 } });
    const { possibleTokens } = admitted.quote;
    expect(metered).toMatchObject({
      usage: { inputTokens: possibleTokens, outputTokens: possibleTokens },
      costNanoUsd: costOf(possibleTokens, possibleTokens),
      flags: FLAGS.estimated,
    });
    expect(warnings).toEqual([expect.stringContaining('more tokens than its model can have')]);
  });

  test('flags usage without a price as unpriced', async () => {
    const { meter } = await start({ model: 'mock/unknown', budget: false });
    expect(await meter()).toMatchObject({
      usage: { inputTokens: 9, outputTokens: 5 },
      costNanoUsd: 0,
      flags: FLAGS.unpriced,
    });
  });

  test('books the worst case, within the hold, for an answer that it fails to read', async () => {
    const { meter, admitted, warnings } = await start();
    const broken = () => {
      throw new Error('a bug');
    };
    const metered = await meter({ usage: undefined, receivedText: broken });
    expect(metered).toMatchObject({ costNanoUsd: admitted.heldNanoUsd, flags: FLAGS.estimated });
    expect(warnings).toEqual(['an answer could not be read, so gw booked its worst case: a bug']);
  });
});

test('meterAtBound() books the bounds of the quote', async () => {
  const { gateway, admitted } = await start();
  expect(meterAtBound(gateway, admitted, new Error('a bug'))).toMatchObject({
    usage: { inputTokens: admitted.quote.inputTokens, outputTokens: 20 },
    costNanoUsd: admitted.heldNanoUsd,
    flags: FLAGS.estimated,
  });
});
