import { describe, expect, test } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';

const HI = [{ role: 'user', content: 'hi' }];

/** A gateway before providers that answer as the script says, under their own names. */
async function start(providers: readonly string[], capUsd?: number): Promise<TestGateway> {
  const budget = capUsd === undefined ? {} : { budget: { period: 'daily' as const, capUsd } };
  const gateway = await startGateway({ alone: true, ...budget });
  const baseUrl = gateway.upstream.url;
  gateway.configure({ providers: Object.fromEntries(providers.map((name) => [name, { baseUrl }])) });
  return gateway;
}

/** What is booked for an answer with this usage, in nano-dollars. */
async function booked(model: string, usage: object, more: object = {}, path = '/v1/chat/completions') {
  const gateway = await start([model.slice(0, model.indexOf('/'))]);
  const answer = { choices: [{ message: { content: 'x' } }], content: [{ type: 'text', text: 'x' }], usage };
  gateway.upstream.queue(json(200, answer));
  await gateway.post({ model, max_tokens: 200, messages: HI, ...more }, { path });
  const [record] = await gateway.settled(1);
  return { nanoUsd: record?.costNanoUsd, flags: record?.flags, detail: record?.detail };
}

describe('a bill by the served terms', () => {
  const CLAUDE = { input_tokens: 1_000, output_tokens: 100 };
  const GPT = { prompt_tokens: 1_000, completion_tokens: 100 };

  test.each([
    ['claude-opus-5', 15_000_000],
    ['claude-opus-4-6', 45_000_000],
  ])('%s in fast mode', async (model, nanoUsd) => {
    const usage = { ...CLAUDE, speed: 'fast', inference_geo: 'global' };
    const bill = await booked(`anthropic/${model}`, usage, { speed: 'fast' }, '/v1/messages');
    expect(bill).toMatchObject({ nanoUsd, flags: [] });
  });

  test.each([
    ['gpt-4.1', 4_900_000],
    ['gpt-5.4', 8_000_000],
    ['gpt-5-mini', 810_000],
    ['gpt-4o-mini', 350_000],
  ])('%s with priority', async (model, nanoUsd) => {
    const bill = await booked(
      `openai/${model}`,
      { ...GPT, service_tier: 'priority' },
      { service_tier: 'priority' },
    );
    expect(bill).toMatchObject({ nanoUsd, flags: [] });
  });

  test('holds a limit in fast mode that its price has room for', async () => {
    const gateway = await start(['anthropic'], 3);
    gateway.upstream.queue(json(200, { content: [], usage: { ...CLAUDE, speed: 'fast' } }));
    const body = { model: 'anthropic/claude-opus-5', max_tokens: 40_000, speed: 'fast', messages: HI };
    expect((await gateway.post(body, { path: '/v1/messages' })).status).toBe(200);
    expect(JSON.parse(String(gateway.upstream.requests[0]?.body)).max_tokens).toBe(40_000);
  });
});

describe('a report that contradicts itself', () => {
  test('is billed by its end where a cache changed its mind', async () => {
    const gateway = await start(['anthropic']);
    const opening = { input_tokens: 3, cache_creation_input_tokens: 58_352, cache_read_input_tokens: 0 };
    const end = { input_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 58_352 };
    const events = [
      { type: 'message_start', message: { usage: { ...opening, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { ...end, output_tokens: 10 } },
      { type: 'message_stop' },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
    gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, text));
    const body = { model: 'anthropic/claude-opus-5', max_tokens: 99, stream: true, messages: HI };
    await gateway.post(body, { path: '/v1/messages' });
    const [record] = await gateway.settled(1);
    // $5 in, $0.50 from the cache and $25 out, a million.
    expect(record).toMatchObject({
      costNanoUsd: 3 * 5_000 + 58_352 * 500 + 10 * 25_000,
      cachedInputTokens: 58_352,
      cacheWriteTokens: 0,
      flags: ['stream', 'inconsistent'],
      detail: { conflicts: [expect.stringContaining('58352')] },
    });
  });

  test('is billed beside its total where the parts exceed it', async () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 10,
      prompt_tokens_details: { cached_tokens: 5_000 },
    };
    expect(await booked('openai/gpt-4.1', usage)).toMatchObject({
      nanoUsd: 12 * 2_000 + 5_000 * 500 + 10 * 8_000,
      flags: ['inconsistent'],
      detail: { conflicts: ['cached 5000 and written 0 exceed the input of 12'] },
    });
  });
});

describe('a price for each request', () => {
  async function painter(capUsd: number) {
    const gateway = await start(['openai'], capUsd);
    const price = { inputPicoUsd: 0, outputPicoUsd: 0, requestPicoUsd: 4e10 };
    await gateway.setPrice({ provider: 'openai', model: 'dall-e-3', ...price });
    gateway.upstream.script(json(200, { data: [{ url: 'a' }] }));
    const paint = async (more: object = {}, path = '/v1/images/generations') =>
      (await gateway.post({ model: 'openai/dall-e-3', prompt: 'a', ...more }, { path })).status;
    return { gateway, paint };
  }

  test('is held and booked for pictures without usage, and stops at the cap', async () => {
    const { gateway, paint } = await painter(0.1);
    expect([await paint(), await paint(), await paint(), await paint()]).toEqual([200, 200, 402, 402]);
    const records = await gateway.settled(4);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([40_000_000, 40_000_000, 0, 0]);
    expect(records[0]?.flags).toEqual([]);
  });

  test('is for each of several pictures', async () => {
    const { gateway, paint } = await painter(0.1);
    expect([await paint({ n: 3 }), await paint({ n: 2 }), await paint()]).toEqual([402, 200, 402]);
    expect((await gateway.settled(3))[1]?.costNanoUsd).toBe(80_000_000);
  });

  test('opens no endpoint whose calls may generate more than once', async () => {
    const { paint } = await painter(5);
    for (const path of ['/v1/batches', '/v1/fine_tuning/jobs', '/v1/anything'])
      expect(await paint({}, path)).toBe(402);
  });

  test('costs nothing where the provider refuses', async () => {
    const { gateway, paint } = await painter(0.1);
    gateway.upstream.script(json(400, { error: { message: 'no' } }));
    expect(await paint()).toBe(400);
    expect((await gateway.settled(1))[0]?.costNanoUsd).toBe(0);
  });
});

describe('a total alone', () => {
  test('is the input of embeddings', async () => {
    const gateway = await start(['mock']);
    gateway.upstream.queue(json(200, { data: [], usage: { total_tokens: 9 } }));
    await gateway.post({ model: 'mock/test-model', input: 'hi' }, { path: '/v1/embeddings' });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ inputTokens: 9, costNanoUsd: 9_000, flags: [] });
  });
});

test("Gemini's reasoning has the price of text beside pictures", async () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 1_290,
    total_tokens: 1_400,
    completion_tokens_details: { reasoning_tokens: 100 },
  };
  const { nanoUsd } = await booked('google/gemini-3-pro-image-preview', usage);
  // $2 in, $12 out as text and $120 as pictures, a million.
  expect(nanoUsd).toBe(10 * 2_000 + 100 * 12_000 + 1_290 * 120_000);
});
