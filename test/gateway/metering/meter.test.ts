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
  isReadable: true,
  isStream: false,
  firstByteAt: 100,
  lastByteAt: 100,
  receivedText: () => ['Hello there'],
  unended: '',
};

interface StartOptions {
  model?: string;
  maxTokens?: number;
  budget?: boolean;
}

/** Admits a request on a real ledger, and meters answers to it. */
async function start({ model = MODEL, maxTokens = 20, budget = true }: StartOptions = {}) {
  const parts = await openGatewayParts(budget ? { budget: { period: 'daily', capUsd: 100 } } : {});
  const { gateway } = parts;
  const context = parts.contextOf({
    model,
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: maxTokens,
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

  test('adds to a cut answer what may have been generated since its last byte', async () => {
    const { meter, clock, gateway } = await start({ maxTokens: 10_000 });
    await clock.advance(2_000);
    const stream = { usage: undefined, isStream: true, firstByteAt: 500, lastByteAt: 1_000 };
    const whole = await meter(stream);
    const cut = await meter(stream, { whole: false });
    const perSecond = gateway.settings()['metering.max_tokens_per_second'];
    // Half a second before the first byte, and one after the last.
    expect(cut.usage.outputTokens - whole.usage.outputTokens).toBe(Math.ceil(1.5 * perSecond));
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
