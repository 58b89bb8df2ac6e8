import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { admit, admitFinally } from '../../../src/gateway/admission/admit.ts';
import { noRoomError, priceUnknown } from '../../../src/gateway/admission/errors.ts';
import { inputBound } from '../../../src/gateway/admission/input-tokens.ts';
import { quoteRequest } from '../../../src/gateway/admission/quote-request.ts';
import { ClientGone } from '../../../src/gateway/context/exchange.ts';
import type { RequestContext } from '../../../src/gateway/context/request-context.ts';
import { recordOf } from '../../../src/gateway/context/request-record.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import type { Standing } from '../../../src/store/ledger/standing.ts';
import { type GatewayParts, openGatewayParts } from '../../support/gateway-parts.ts';
import type { TestBudget } from '../../support/home.ts';

const MESSAGES = [{ role: 'user', content: 'Hi' }];
/** `mock/test-model` costs $1 a million tokens in and $2 out. */
const MODEL = 'mock/test-model';
const NANO_PER_OUTPUT_TOKEN = 2_000;
/** Of a cap of a cent this leaves less than the least output costs. */
const ALMOST_ALL = 4_800;

const daily = (capUsd: number): TestBudget => ({ period: 'daily', capUsd });

async function start(budget?: TestBudget) {
  const parts = await openGatewayParts(budget ? { budget } : {});
  const admitAt = (context: RequestContext, target: Target) =>
    admit(parts.gateway, context, target, parts.gateway.calendar());
  return {
    ...parts,
    admitAt,
    /** Admits a chat request for the test model. */
    admit: async (fields: object = {}, model = MODEL) =>
      admitAt(parts.contextOf({ model, messages: MESSAGES, ...fields }), await parts.targetOf(model)),
    rows: () => parts.db.prepare('SELECT hold_nano_usd FROM open_holds').pluck().all(),
  };
}

/** Books a request's whole hold, as a settlement that used up its worst case does. */
async function settle({ gateway }: GatewayParts, context: RequestContext, costNanoUsd: number) {
  const fields = { status: 200, outcome: 'ok', costNanoUsd } as const;
  await gateway.ledger.settle(recordOf(context, undefined, fields, 0));
  gateway.queue.wake(context.project.id);
}

describe('admit()', () => {
  test('holds the worst case in the ledger, and tells what the budget has left', async () => {
    const { admitAt, contextOf, targetOf, gateway, rows } = await start(daily(1));
    const context = contextOf({ model: MODEL, messages: MESSAGES, max_tokens: 20 });
    const target = await targetOf(MODEL);
    const { amount } = quoteRequest(gateway, context, target)(inputBound(context, target));
    expect(await admitAt(context, target)).toMatchObject({
      heldNanoUsd: amount,
      remaining: 1_000_000_000 - amount,
      limit: undefined,
      quote: { amount, outputTokens: 20 },
    });
    expect(rows()).toEqual([amount]);
  });

  test('writes no limit and reports no room without a budget', async () => {
    const { admit: admitted, rows } = await start();
    expect(await admitted()).toMatchObject({ remaining: null, limit: undefined, calls: undefined });
    expect(rows()).toHaveLength(1);
  });

  test.each([
    ['', {}],
    [" of the request's own", { max_tokens: 32_000 }],
  ])('lowers the output limit%s to what the budget affords', async (_, fields) => {
    const { admit: admitted } = await start(daily(0.01));
    const { limit = 0, heldNanoUsd, remaining, quote } = await admitted(fields);
    expect(limit).toBeLessThan(quote.outputTokens);
    expect(heldNanoUsd + (remaining ?? 0)).toBe(10_000_000);
    // Not a token less than there is room for.
    expect(remaining).toBeLessThan(NANO_PER_OUTPUT_TOKEN);
    expect(quote.amount - heldNanoUsd).toBe((quote.outputTokens - limit) * NANO_PER_OUTPUT_TOKEN);
  });

  test('counts the input exactly when its bound has no room', async () => {
    const { admit: admitted, admitAt, contextOf, targetOf, setPrice } = await start(daily(0.002));
    for (const model of ['gpt-oss-20b', 'gpt-4o'])
      await setPrice({ model, inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 });
    const content = 'hello world '.repeat(300);
    const fields = { messages: [{ role: 'user', content }], max_tokens: 20 };
    const { quote } = await admitted(fields, 'mock/gpt-oss-20b');
    // 600 words, not 3,600 bytes.
    expect(quote.inputTokens).toBeGreaterThan(600);
    expect(quote.inputTokens).toBeLessThan(900);
    // What another host calls by the name of a model of OpenAI's may have another template.
    await expect(admitted(fields, 'mock/gpt-4o')).rejects.toMatchObject({ status: 402 });
    const context = contextOf({ model: 'mock/gpt-oss-20b', messages: MESSAGES, max_tokens: 20 });
    const target = await targetOf('mock/gpt-oss-20b');
    const short = await admitAt(context, target);
    expect(short.quote.inputTokens).toBe(inputBound(context, target));
  });

  test('waits for room that a running request holds, and takes it when that settles', async () => {
    const parts = await start(daily(0.01));
    const { admitAt, contextOf, targetOf } = parts;
    const target = await targetOf(MODEL);
    const first = contextOf({ model: MODEL, messages: MESSAGES, max_tokens: ALMOST_ALL });
    await admitAt(first, target);
    const second = admitAt(contextOf({ model: MODEL, messages: MESSAGES, max_tokens: 4_000 }), target);
    let isDecided = false;
    void second.then(() => {
      isDecided = true;
    });
    await parts.clock.advance(1_000);
    expect([isDecided, parts.holds()]).toEqual([false, 1]);
    await settle(parts, first, 1_000);
    expect(await second).toMatchObject({ quote: { outputTokens: 4_000 } });
    expect(parts.holds()).toBe(1);
  });

  test('refuses with 429 budget_busy what waited in vain', async () => {
    const { admit: admitted, clock } = await start(daily(0.01));
    await admitted({ max_tokens: ALMOST_ALL });
    const second = admitted({ max_tokens: 4_000 });
    const refusal = expect(second).rejects.toMatchObject({
      status: 429,
      code: 'budget_busy',
      headers: { 'retry-after': '2' },
      message: expect.stringMatching(/^running requests hold the rest of budget default\/daily: /),
    });
    await clock.timerSet();
    await clock.advance(60_000);
    await refusal;
  });

  test('throws ClientGone for a client that hangs up while it waits', async () => {
    const parts = await start(daily(0.01));
    await parts.admit({ max_tokens: ALMOST_ALL });
    const context = parts.contextOf({ model: MODEL, messages: MESSAGES, max_tokens: 4_000 });
    const second = parts.admitAt(context, await parts.targetOf(MODEL));
    const result = expect(second).rejects.toBeInstanceOf(ClientGone);
    await parts.clock.timerSet();
    context.exchange.gone = true;
    await parts.clock.advance(1_000);
    await result;
    expect(parts.holds()).toBe(1);
  });

  test('refuses with 402 what the period has no room for, and records it as blocked', async () => {
    const { admit: admitted, records, rows } = await start(daily(0.0001));
    const error = await admitted({ max_tokens: 4_000 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GwError);
    expect(error).toMatchObject({
      status: 402,
      code: 'budget_exceeded',
      fields: { budget_id: 'default/daily', spent_usd: 0, cap_usd: 0.0001 },
    });
    expect(rows()).toEqual([]);
    expect(await records()).toMatchObject([{ status: 402, outcome: 'blocked' }]);
  });

  test('refuses a model without a price under a budget, and names the command that sets it', async () => {
    const { admit: admitted, holds } = await start(daily(1));
    await expect(admitted({}, 'mock/unknown')).rejects.toMatchObject({
      status: 402,
      code: 'price_unknown',
      message:
        "the price of mock/unknown is unknown, so budget default/daily can't cover the request. To set it, in dollars per million tokens: gw prices set mock/unknown --input X --output Y",
    });
    expect(holds()).toBe(0);
  });

  test('names the nearest models for a misspelled one', async () => {
    const budget = { project: 'default', period: 'daily', repo: '', scopeKind: '', scopeValue: '' };
    const standing = { budget } as unknown as Standing;
    expect(priceUnknown(standing, 'openai', 'gpt-4oo').message).toMatch(
      /^gw knows no model "gpt-4oo" at openai\. Did you mean gpt-4o/,
    );
  });

  test('admits a model without a price where there is no budget', async () => {
    const { admit: admitted } = await start();
    expect(await admitted({}, 'mock/unknown')).toMatchObject({
      heldNanoUsd: 0,
      remaining: null,
      quote: { unpriced: true },
    });
  });

  test('admits a free model under an exhausted budget', async () => {
    const { admit: admitted, setPrice } = await start(daily(0));
    await setPrice({ model: 'free', inputPicoUsd: 0, outputPicoUsd: 0 });
    expect(await admitted({}, 'mock/free')).toMatchObject({ heldNanoUsd: 0, remaining: 0 });
  });
});

test('admitFinally() decides without an exact count', async () => {
  const { gateway, contextOf, targetOf } = await start(daily(0.0001));
  const context = contextOf({ model: MODEL, messages: MESSAGES, max_tokens: 4_000 });
  const target = await targetOf(MODEL);
  const quote = quoteRequest(gateway, context, target)(inputBound(context, target));
  const admission = { context, target, calendar: gateway.calendar() };
  await expect(admitFinally(gateway, admission, quote)).rejects.toMatchObject({ code: 'budget_exceeded' });
});

test('noRoomError() tells money that is held from money that is spent, by what all attempts need', async () => {
  const parts = await start(daily(1));
  const { gateway, contextOf, targetOf } = parts;
  const context = contextOf({ model: MODEL, messages: MESSAGES, max_tokens: 20 });
  const target = await targetOf(MODEL);
  const calendar = gateway.calendar();
  const quote = quoteRequest(gateway, context, target)(inputBound(context, target));
  const [standing] = await gateway.ledger.standings(context.project.id);
  if (!standing) throw new Error('no budget');
  const unspent = 1_000_000_000;
  const errorAfter = (spent: number) =>
    noRoomError({ context, target, calendar, spent }, { standing, quote });
  expect(errorAfter(unspent - quote.least)).toMatchObject({ status: 429, code: 'budget_busy' });
  expect(errorAfter(unspent - quote.least + 1)).toMatchObject({ status: 402, code: 'budget_exceeded' });
});
