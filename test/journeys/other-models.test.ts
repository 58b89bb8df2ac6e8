import { describe, expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';

const HI = [{ role: 'user', content: 'hi' }];
const HAIKU = { model: 'claude-haiku-4-5', max_tokens: 1_000, messages: HI };
const OPUS = [{ model: 'claude-opus-5' }];

/** A gateway with Claude's list prices, and a chat provider with models at $1/$2, $10/$20 and $0.1/$0.2 a million. */
async function start(capUsd = 100): Promise<TestGateway> {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd } });
  const baseUrl = gateway.upstream.url;
  gateway.configure({
    providers: { mock: { baseUrl }, anthropic: { baseUrl }, openrouter: { baseUrl }, azure: { baseUrl } },
  });
  for (const provider of ['mock', 'openrouter'])
    for (const [model, price] of Object.entries({ m: 1, dear: 10, cheap: 0.1 })) {
      const [inputPicoUsd, outputPicoUsd] = [price * 1e6, price * 2e6];
      await gateway.setPrice({ provider, model, inputPicoUsd, outputPicoUsd });
    }
  return gateway;
}

const ask = (gateway: TestGateway, body: object) => gateway.post(body, { path: '/v1/messages' });

async function holdsOf(gateway: TestGateway, bodies: readonly object[], path: string): Promise<number[]> {
  gateway.upstream.script(
    json(200, { usage: { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1 } }),
  );
  for (const body of bodies) expect((await gateway.post(body, { path })).status).toBe(200);
  const records = await gateway.settled(bodies.length);
  return records.map(({ holdNanoUsd }) => holdNanoUsd ?? 0);
}

describe('a list of other models that may answer', () => {
  test('is held as the sum of all where each that declines is billed', async () => {
    const gateway = await start();
    const [haiku, opus, both] = await holdsOf(
      gateway,
      [HAIKU, { ...HAIKU, model: 'claude-opus-5' }, { ...HAIKU, fallbacks: OPUS }],
      '/v1/messages',
    );
    expect(both).toBeGreaterThanOrEqual((haiku ?? 0) + (opus ?? 0));
  });

  test('is held as the dearest of them at OpenRouter, which bills the one that answers', async () => {
    const gateway = await start();
    const chat = (model: string, more: object = {}) => ({
      model: `openrouter/${model}`,
      max_tokens: 9,
      messages: HI,
      ...more,
    });
    const [dear, any] = await holdsOf(
      gateway,
      [chat('dear'), chat('m', { models: ['m', 'cheap', 'dear'] })],
      '/v1/chat/completions',
    );
    expect(any).toBeGreaterThanOrEqual(dear ?? 0);
    expect(any).toBeLessThan((dear ?? 0) * 1.5);
    const { body } = gateway.upstream.requests[1] ?? {};
    expect(JSON.parse(String(body))).toMatchObject({
      provider: { max_price: { prompt: expect.closeTo(10), completion: expect.closeTo(20) } },
    });
  });

  test.each([
    ['a fallback', 'm', { fallbacks: [{ model: 'dear' }] }],
    ['one of several', 'm', { models: ['cheap', 'dear'] }],
    ['in a field that gw does not know', 'm', { fallback_models: ['dear'] }],
    ['deeper in one', 'm', { extra_body: { route: { model: 'dear' } } }],
    ['as a name alone', 'm', { backup: 'gpt-5-pro' }],
  ])('is refused where the cap has no room for the dearest: %s', async (_, model, more) => {
    const gateway = await start(0.0015);
    const body = { model: `mock/${model}`, max_tokens: 1_000, messages: HI };
    expect((await gateway.post(body)).status).toBe(200);
    expect((await gateway.post({ ...body, ...more })).status).toBe(402);
    expect(gateway.upstream.requests).toHaveLength(1);
  });

  test('is refused where one has no known price, which the answer names', async () => {
    const gateway = await start();
    const answer = await ask(gateway, { ...HAIKU, fallbacks: [{ model: 'claude-nine' }] });
    expect([answer.status, answer.json()]).toMatchObject([
      402,
      { error: { code: 'price_unknown', message: expect.stringContaining('anthropic/claude-nine') } },
    ]);
  });
});

describe("an answer of another model's", () => {
  test.each([
    ['m', 30_000, []],
    ['m-2026-01-01', 30_000, []],
    ['a-name-without-a-price', 30_000, []],
    ['dear', 300_000, ['overrun', 'underheld', 'other_model']],
    // A relay may call the same model what it likes.
    ['cheap', 30_000, ['other_model']],
  ])('is booked at the dearer price and flagged: %s', async (model, costNanoUsd, flags) => {
    const gateway = await start();
    const usage = { prompt_tokens: 10, completion_tokens: 10 };
    gateway.upstream.script(json(200, { id: 'a', model, choices: [{ message: { content: 'x' } }], usage }));
    await gateway.post({ model: 'mock/m', max_tokens: 10, messages: HI });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ costNanoUsd, flags });
    if (flags.length > 0) expect(record?.detail).toMatchObject({ served_model: model });
  });

  test("is booked at the provider's own figure where it reports one", async () => {
    const gateway = await start();
    const usage = { prompt_tokens: 10, completion_tokens: 10, cost: 0.0001 };
    gateway.upstream.script(json(200, { model: 'dear', choices: [{ message: { content: 'x' } }], usage }));
    await gateway.post({ model: 'openrouter/m', max_tokens: 10, messages: HI, models: ['m', 'dear'] });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ costNanoUsd: 100_000, flags: ['other_model'] });
    expect(record?.detail).toMatchObject({ served_model: 'dear' });
  });

  test('that cost more than was held makes later holds larger', async () => {
    const gateway = await start();
    const usage = { prompt_tokens: 1_000, completion_tokens: 1_000 };
    gateway.upstream.script(json(200, { model: 'dear', choices: [{ message: { content: 'x' } }], usage }));
    const body = { model: 'mock/m', max_tokens: 1_000, messages: HI };
    for (let i = 0; i < 2; i++) await gateway.post(body);
    const [first, second] = await gateway.settled(2);
    expect(second?.holdNanoUsd).toBeGreaterThan((first?.holdNanoUsd ?? 0) * 9);
  });

  test.each([false, true])('is booked by iteration, each at its own price (stream: %s)', async (stream) => {
    const gateway = await start();
    const iterations = [
      { type: 'message', model: 'claude-haiku-4-5', input_tokens: 1_000, output_tokens: 10 },
      { type: 'fallback_message', model: 'claude-opus-5-20260724', input_tokens: 1_000, output_tokens: 20 },
      { type: 'compaction', input_tokens: 10_000, output_tokens: 100 },
    ];
    const usage = { input_tokens: 1_000, output_tokens: 20, iterations };
    const message = {
      type: 'message',
      id: 'msg_1',
      model: 'claude-haiku-4-5',
      content: [],
      usage: { input_tokens: 1_000, output_tokens: 1 },
    };
    const events = [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    gateway.upstream.script(
      stream
        ? respond(200, { 'content-type': 'text/event-stream' }, text)
        : json(200, { ...message, model: 'claude-opus-5-20260724', usage }),
    );
    expect((await ask(gateway, { ...HAIKU, stream, fallbacks: OPUS })).status).toBe(200);
    const [record] = await gateway.settled(1);
    // Haiku $1/$5, Opus $5/$25 a million: the compaction is the requested model's.
    expect(record).toMatchObject({
      costNanoUsd:
        1_000_000 + 50_000 + 5_000_000 + 500_000 + (stream ? 10_000_000 + 500_000 : 50_000_000 + 2_500_000),
      flags: expect.arrayContaining(['other_model']),
      detail: { served_model: expect.stringContaining('claude-opus-5') },
    });
  });
});

/** gpt-4.1-mini costs $0.40/$1.60 a million, $0.10 from the cache, and the router $0.14 for input. */
describe("the fee of Azure's model router", () => {
  const answer = (model: string) => ({
    id: 'a',
    model,
    choices: [{ message: { content: 'x' } }],
    usage: {
      prompt_tokens: 1_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 500 },
    },
  });

  async function bookedFor(gateway: TestGateway, model: string, served: object, more: object = {}) {
    gateway.upstream.script(json(200, served));
    const body = { model: `azure/${model}`, max_tokens: 200, messages: HI, ...more };
    expect((await gateway.post(body)).status).toBe(200);
    const [record] = await gateway.settled(1);
    return record;
  }

  test.each(['model-router', 'auto', 'my_model_router-2'])(
    'is booked once, beside the model that answered: %s',
    async (model) => {
      const gateway = await start();
      await gateway.setPrice({ provider: 'azure', model, inputPicoUsd: 5e6, outputPicoUsd: 30e6 });
      const record = await bookedFor(gateway, model, answer('gpt-4.1-mini-2025-04-14'));
      expect(record).toMatchObject({
        costNanoUsd: 200_000 + 50_000 + 160_000 + 140_000,
        flags: ['other_model'],
        detail: { served_model: 'gpt-4.1-mini-2025-04-14', router_fee_usd: 0.00014 },
      });
    },
  );

  test('is beside the price that the owner set where the answer names no known model', async () => {
    const gateway = await start();
    await gateway.setPrice({ provider: 'azure', model: 'auto', inputPicoUsd: 5e6, outputPicoUsd: 30e6 });
    const record = await bookedFor(gateway, 'auto', answer('a-model-of-next-year'));
    expect(record).toMatchObject({ costNanoUsd: 5_000_000 + 3_000_000 + 140_000 });
  });

  test('is held', async () => {
    const gateway = await start();
    for (const model of ['auto', 'otto'])
      await gateway.setPrice({ provider: 'azure', model, inputPicoUsd: 5e6, outputPicoUsd: 30e6 });
    gateway.upstream.script(json(200, answer('')));
    for (const model of ['auto', 'otto'])
      await gateway.post({ model: `azure/${model}`, max_tokens: 200, messages: HI });
    const [router, plain] = (await gateway.settled(2)).map(({ holdNanoUsd }) => holdNanoUsd ?? 0);
    const inputTokens = ((plain ?? 0) - 200 * 30_000) / 5_000;
    expect(inputTokens).toBeGreaterThan(0);
    expect((router ?? 0) - (plain ?? 0)).toBe(140 * inputTokens);
  });

  test('is no reason to run without a bound: the router may choose any model', async () => {
    const gateway = await start();
    const body = { model: 'azure/model-router', max_tokens: 200, messages: HI };
    const refused = await gateway.post(body);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(String(refused.body)).toContain('gw prices set azure/model-router');
    expect(gateway.upstream.requests).toHaveLength(0);
  });
});
