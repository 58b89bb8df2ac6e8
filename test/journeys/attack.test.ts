import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { ProviderSettings } from '../../src/config/settings.ts';
import { createAdmissionQueue } from '../../src/gateway/state/admission-queue.ts';
import type { Admission, AdmissionResult } from '../../src/store/ledger/admission.ts';
import { openConnection } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { type GatewayOptions, PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';
import { reset, respond } from '../support/scripts.ts';
import { eventsOf } from '../support/simulator.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

function budgeted(options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({ ...BUDGET, ...options });
}

/** Adds a provider with the same upstream and prices as `mock`. */
async function addProvider(gateway: TestGateway, provider: string, settings: ProviderSettings = {}) {
  gateway.configure({ providers: { [provider]: { baseUrl: gateway.upstream.url, ...settings } } });
  await gateway.setPrice({
    provider,
    model: 'test-model',
    inputPicoUsd: 1_000_000,
    outputPicoUsd: 2_000_000,
  });
}

/** The only record, once nothing is held any more. */
async function recordOf(gateway: TestGateway) {
  const [record] = await gateway.settled(1);
  if (!record) throw new Error('nothing is on record');
  return record;
}

describe('the cost of an answer', () => {
  test('is booked from usage behind JSON nested deeper than the stack', async () => {
    const gateway = await budgeted();
    const content = `${'['.repeat(50_000)}"Hello"${']'.repeat(50_000)}`;
    gateway.upstream.queue(respond(200, JSON_TYPE, `{"choices":[{"message":{"content":${content}}}]}`));
    expect((await gateway.post({ ...PLAIN, max_tokens: 50 })).status).toBe(200);
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 1, flags: ['estimated'] });
  });

  const EVENTS = { id: 'x', choices: [{ index: 0, delta: { content: 'word '.repeat(20) } }] };
  const asEvents = (...values: object[]) =>
    `${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')}data: [DONE]\n\n`;

  test.each([{ 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, {}])(
    'is read from a stream with the headers %j',
    async (headers: Record<string, string>) => {
      const gateway = await budgeted();
      const usage = { prompt_tokens: 7, completion_tokens: 20 };
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS, { choices: [], usage })));
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS)));
      for (const _ of [1, 2]) await gateway.post({ ...STREAM, max_tokens: 200 });
      const [reported, counted] = await gateway.settled(2);
      expect(reported).toMatchObject({ inputTokens: 7, outputTokens: 20, flags: ['stream'] });
      expect(counted).toMatchObject({ outputTokens: 21, flags: ['stream', 'estimated'] });
    },
  );

  test('is read from an event of two megabytes', async () => {
    const gateway = await budgeted();
    const usage = { prompt_tokens: 7, completion_tokens: 20 };
    const image = { delta: { images: ['x'.repeat(2 * 1024 * 1024)] } };
    const events = asEvents({ choices: [image], usage });
    gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, events));
    await gateway.post({ ...STREAM, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 20, flags: ['stream'] });
  });

  test.each([
    ['cut short', gzipSync(`{"usage":{"prompt_tokens":7,"completion_tokens":20}}`).subarray(0, 30), 'gzip'],
    ['too large', gzipSync('x'.repeat(17 * 1024 * 1024)), 'gzip'],
    ['in an encoding that gw does not read', Buffer.from('{}'), 'compress'],
  ])('is all that was held where the answer is %s', async (_how, body, encoding) => {
    const gateway = await budgeted();
    gateway.upstream.queue(respond(200, { ...JSON_TYPE, 'content-encoding': encoding }, body));
    await gateway.post({ ...PLAIN, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 200, flags: ['estimated'] });
  });

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ])('is what is reported in an answer in %s', async (encoding, encode) => {
    const gateway = await budgeted();
    const body = encode('{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":20}}');
    gateway.upstream.queue(respond(200, { ...JSON_TYPE, 'content-encoding': encoding }, body));
    await gateway.post({ ...PLAIN, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ inputTokens: 7, outputTokens: 20, flags: [] });
  });

  const usage = (prompt_tokens: number, completion_tokens?: number) => ({ prompt_tokens, completion_tokens });

  test('is estimated if the reported usage leaves out the text', async () => {
    const gateway = await budgeted();
    const body = { choices: [{ message: { content: 'Hello, Hello' } }], usage: usage(7) };
    gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify(body)));
    await gateway.post({ ...PLAIN, max_tokens: 50 });
    expect(await recordOf(gateway)).toMatchObject({ inputTokens: 7, outputTokens: 3, flags: ['estimated'] });
  });

  test('is what the provider reports, searches included, unless that is impossible', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openrouter');
    const charged = { ...usage(7, 5), cost: 0.0425 };
    gateway.upstream.script(respond(200, JSON_TYPE, JSON.stringify({ usage: charged })));
    for (const provider of ['openrouter', 'mock']) {
      await gateway.post({ ...PLAIN, model: `${provider}/test-model`, max_tokens: 50 });
    }
    const records = await gateway.settled(2);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([42_500_000, 17_000]);
  });

  test('is more than the usage so far of a stream that the client left, and that breaks off', async () => {
    const gateway = await budgeted();
    const gate = createGate();
    const chunk = (content: string, tokens: number) =>
      `data: ${JSON.stringify({ choices: [{ delta: { content } }], usage: usage(7, tokens) })}\n\n`;
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(chunk('', 0) + chunk('word '.repeat(20), 1));
      await gate.pass();
      exchange.reset();
    });
    const connection = await gateway.open({ ...STREAM, max_tokens: 200 });
    await connection.bodyUntil('word');
    connection.hangUp();
    gate.open();
    const record = await recordOf(gateway);
    expect(record).toMatchObject({ inputTokens: 7, flags: ['stream', 'estimated'] });
    expect(record.outputTokens).toBeGreaterThanOrEqual(100);
  });

  test.each(['leaves', 'is cut off'])(
    'is more than the usage in the opening of a message whose client %s',
    async (how) => {
      const gateway = await budgeted();
      const gate = createGate();
      await addProvider(gateway, 'claude', { wire: 'anthropic' });
      const delta = {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'word '.repeat(20) },
      };
      const start = { type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1 } } };
      gateway.upstream.queue(async (exchange) => {
        await exchange.body;
        await exchange.start(200, { 'content-type': 'text/event-stream' });
        for (const value of [start, delta]) await exchange.chunk(`data: ${JSON.stringify(value)}\n\n`);
        if (how === 'is cut off') return exchange.finish();
        await gate.pass();
        exchange.reset();
      });
      const body = { ...STREAM, model: 'claude/test-model', max_tokens: 200 };
      const connection = await gateway.open(body, { path: '/v1/messages' });
      await connection.bodyUntil('word');
      if (how === 'leaves') connection.hangUp();
      gate.open();
      const record = await recordOf(gateway);
      expect(record).toMatchObject({ inputTokens: 7, flags: ['stream', 'estimated'] });
      expect(record.outputTokens).toBeGreaterThanOrEqual(21);
      connection.hangUp();
    },
  );

  test.each([
    [
      'an image',
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b' } }] },
        ],
      },
      12_000,
    ],
    ['an earlier answer', '/v1/responses', { input: 'Hi', previous_response_id: 'resp_1' }, 1_000_000],
    ['a conversation', '/v1/responses', { input: 'Hi', conversation: 'conv_1' }, 1_000_000],
    ['a stored prompt', '/v1/responses', { prompt: { id: 'pmpt_1' }, max_tool_calls: 1 }, 1_000_000],
    ['an item', '/v1/responses', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 1_000_000],
    [
      'shortened input',
      '/v1/responses',
      { input: 'Hi', context_management: [{ type: 'compaction' }] },
      1_000_000,
    ],
    [
      'cached input',
      '/v1/chat/completions',
      { ...PLAIN, extra_body: { google: { cached_content: 'c' } } },
      1_000_000,
    ],
  ])(
    'includes the bound of %s that is only referred to, if usage is missing',
    async (_what, path, body, least) => {
      const gateway = await budgeted({ alone: true });
      gateway.upstream.queue(reset());
      await gateway.post({ model: PLAIN.model, ...body }, { path });
      expect((await recordOf(gateway)).inputTokens).toBeGreaterThanOrEqual(least);
    },
  );
});

describe('a surcharge', () => {
  const USED = { prompt_tokens: 100, completion_tokens: 50 };

  test.each([
    [{ service_tier: 'priority' }, 2.5],
    [{ service_tier: 'fast' }, 2.5],
    [{ service_tier: 'ultrafast' }, 6],
    [{ service_tier: 'flex', speed: 'fast', inference_geo: 'us' }, 6.6],
  ])(
    'is held and booked at the most that it can cost, if no page names the model: %j',
    async (terms, factor) => {
      const gateway = await budgeted();
      gateway.upstream.script(respond(200, JSON_TYPE, JSON.stringify({ usage: USED })));
      for (const more of [{}, terms]) await gateway.post({ ...PLAIN, max_tokens: 50, ...more });
      const [listed, dearer] = await gateway.settled(2);
      expect(listed?.costNanoUsd).toBe(200_000);
      expect(dearer).toMatchObject({ costNanoUsd: Math.round(200_000 * factor), flags: ['estimated'] });
      expect(dearer?.detail).toMatchObject({ assumed: [expect.stringContaining('service tier')] });
      expect(dearer?.holdNanoUsd).toBeGreaterThanOrEqual((listed?.holdNanoUsd ?? 0) * factor);
    },
  );

  test.each([
    { models: 'openai/gpt-5-pro' },
    { fallbacks: 'default' },
    { fallbacks: [{ model: 'mock/test-model', max_tokens: 1_000_000 }] },
    { service_tier: 'warp' },
    { speed: 7 },
    { preset: 'dearest' },
    { stop_server_tools_when: [{ type: 'cost', usd: 100 }] },
    { multi_agent: { enabled: true } },
  ])('of unknown size is refused under a budget: %j', async (terms) => {
    const gateway = await budgeted();
    const answer = await gateway.post({ ...PLAIN, max_tokens: 50, ...terms });
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
    expect(answer.json()).toMatchObject({ error: { code: 'cost_unbounded', param: Object.keys(terms)[0] } });
  });

  test('of unknown size is sent without a budget, and if its field is empty', async () => {
    const gateway = await startGateway();
    expect((await gateway.post({ ...PLAIN, models: ['a', 'b'] })).status).toBe(200);
    await gateway.setBudget({ period: 'daily', capUsd: 10 });
    expect(
      (await gateway.post({ ...PLAIN, models: [], plugins: null, multi_agent: { enabled: false } })).status,
    ).toBe(200);
  });
});

describe('the service tier that an answer reports', () => {
  const USED = { prompt_tokens: 100, completion_tokens: 50 };
  const chat = (tier: object) => JSON.stringify({ usage: USED, ...tier });

  async function booked(asked: object, reported: object, provider = 'openai') {
    const gateway = await budgeted();
    await addProvider(gateway, provider);
    gateway.upstream.queue(respond(200, JSON_TYPE, chat(reported)));
    await gateway.post({ ...PLAIN, model: `${provider}/test-model`, max_tokens: 50, ...asked });
    const { costNanoUsd, flags } = await recordOf(gateway);
    return [costNanoUsd, flags];
  }

  test.each([
    [
      "an account's default that the hold did not know",
      {},
      { service_tier: 'priority' },
      500_000,
      ['estimated', 'overrun', 'underheld'],
    ],
    ['a cheaper tier than requested', { service_tier: 'priority' }, { service_tier: 'default' }, 200_000, []],
    [
      'the requested tier',
      { service_tier: 'priority' },
      { service_tier: 'priority' },
      500_000,
      ['estimated'],
    ],
    ['half the price', { service_tier: 'flex' }, { service_tier: 'flex' }, 100_000, []],
    ['an unknown tier', {}, { service_tier: 'warp' }, 200_000, []],
    ['not a string', {}, { service_tier: 7 }, 200_000, []],
  ])('decides the cost: %s', async (_what, asked, reported, cost, flags) => {
    // The prompt is short, so that the hold is close to the reported tokens.
    expect(await booked(asked, reported)).toEqual([cost, flags]);
  });

  test('only raises the cost at a provider that may name tiers differently', async () => {
    expect(await booked({ service_tier: 'priority' }, { service_tier: 'default' }, 'proxy')).toEqual([
      500_000,
      ['estimated'],
    ]);
    expect(await booked({}, { service_tier: 'priority' }, 'proxy')).toEqual([
      500_000,
      ['estimated', 'overrun', 'underheld'],
    ]);
  });

  test('is held for while it is known to be the default of the account', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openai');
    for (const service_tier of ['priority', 'priority', 'default', 'default']) {
      gateway.upstream.queue(respond(200, JSON_TYPE, chat({ service_tier })));
      await gateway.post({ ...PLAIN, model: 'openai/test-model', max_tokens: 500 });
    }
    const records = await gateway.settled(4);
    const [first = 0, ...later] = records.map(({ holdNanoUsd }) => holdNanoUsd);
    expect(later).toEqual([first * 2.5, first * 2.5, first]);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([500_000, 500_000, 200_000, 200_000]);
  });

  test.each<[string, object, object, string | undefined]>([
    ['the default for a budget, which holds the listed price', {}, {}, 'default'],
    ['the default instead of the account setting', { service_tier: 'auto' }, {}, 'default'],
    ['the default instead of null', { service_tier: null }, {}, 'default'],
    ['the tier that the request names', { service_tier: 'flex' }, {}, 'flex'],
    ["for the account's own, if that is set", {}, { 'admission.service_tier': 'account' }, undefined],
  ])('is asked of OpenAI %s', async (_what, asked, settings, sent) => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openai');
    gateway.configure({ ...settings, providers: { openai: { baseUrl: gateway.upstream.url } } });
    await gateway.post({ ...PLAIN, model: 'openai/test-model', ...asked });
    expect(JSON.parse(gateway.upstream.requests[0]?.body.toString() ?? '').service_tier).toBe(sent);
  });

  test.each([
    ['openai', '/v1', 'default'],
    ['azure', '/openai/v1/', 'default'],
    // An older API version may not know the field.
    ['azure', '/openai/deployments/test-model', undefined],
  ])('is asked of %s at %s', async (provider, path, sent) => {
    const gateway = await budgeted();
    await addProvider(gateway, provider, { baseUrl: new URL(path, gateway.upstream.url).href });
    await gateway.post({ ...PLAIN, model: `${provider}/test-model` });
    expect(JSON.parse(gateway.upstream.requests[0]?.body.toString() ?? '').service_tier).toBe(sent);
  });

  test('is set to the default at OpenAI however a client leaves it open', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openai');
    const message = { model: 'openai/test-model', messages: PLAIN.messages, max_tokens: 5 };
    await gateway.post(message, { path: '/v1/messages' });
    await gateway.post(JSON.stringify(message).replace(/}$/, ',"service_tier":"\\u0061uto"}'));
    for (const { body } of gateway.upstream.requests) {
      expect(JSON.parse(body.toString()).service_tier).toBe('default');
    }
    expect(gateway.upstream.requests).toHaveLength(2);
  });

  test('is not set at other providers, or without a budget', async () => {
    const gateway = await startGateway();
    await addProvider(gateway, 'openai');
    await gateway.post({ ...PLAIN, model: 'openai/test-model' });
    await gateway.setBudget({ period: 'daily', capUsd: 10 });
    await gateway.post(PLAIN);
    expect(gateway.upstream.requests).toHaveLength(2);
    for (const { body } of gateway.upstream.requests) expect(body.toString()).not.toContain('service_tier');
  });

  test('is read from streams', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openai');
    const event = (value: object) => `data: ${JSON.stringify({ choices: [], ...value })}\n\n`;
    const body = `${event({ usage: USED, service_tier: 'default' })}data: [DONE]\n\n`;
    gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, body));
    const response = { usage: { input_tokens: 100, output_tokens: 50 }, output: [], service_tier: 'default' };
    const last = `data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`;
    gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, last));
    const ask = { model: 'openai/test-model', stream: true, service_tier: 'priority' };
    await gateway.post({ ...ask, messages: PLAIN.messages, max_tokens: 50 });
    await gateway.post({ ...ask, input: 'Hi', max_output_tokens: 50 }, { path: '/v1/responses' });
    const records = await gateway.settled(2);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([200_000, 200_000]);
  });

  test("includes Anthropic's speed and region", async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'anthropic');
    const usage = { input_tokens: 100, output_tokens: 50, service_tier: 'priority' };
    gateway.upstream.queue(
      respond(200, JSON_TYPE, JSON.stringify({ usage: { ...usage, speed: 'standard' } })),
    );
    gateway.upstream.queue(
      respond(200, JSON_TYPE, JSON.stringify({ usage: { ...usage, inference_geo: 'us' } })),
    );
    const ask = { ...PLAIN, model: 'anthropic/test-model', max_tokens: 50 };
    await gateway.post({ ...ask, speed: 'fast' }, { path: '/v1/messages' });
    await gateway.post(ask, { path: '/v1/messages' });
    const records = await gateway.settled(2);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([200_000, 220_000]);
  });
});

describe('the default region of an Anthropic workspace', () => {
  const answered = (usage: object) =>
    respond(200, JSON_TYPE, JSON.stringify({ usage: { input_tokens: 100, output_tokens: 50, ...usage } }));

  async function ask(...turns: [asked: object, reported: object][]) {
    const gateway = await budgeted();
    await addProvider(gateway, 'anthropic');
    for (const [asked, reported] of turns) {
      gateway.upstream.queue(answered(reported));
      const body = { ...PLAIN, model: 'anthropic/test-model', max_tokens: 5_000, ...asked };
      await gateway.post(body, { path: '/v1/messages' });
    }
    return gateway.settled(turns.length);
  }

  test('is held at the dearer price until an answer reports it, and booked as reported', async () => {
    const global = { inference_geo: 'global' };
    const records = await ask([{}, global], [{}, global], [{}, { inference_geo: 'us' }], [{}, global]);
    const [first = 0, second = 0, third, fourth] = records.map(({ holdNanoUsd }) => holdNanoUsd);
    expect([first, third, fourth]).toEqual([second * 1.1, second, second * 1.1]);
    expect(records.map(({ costNanoUsd }) => costNanoUsd)).toEqual([200_000, 200_000, 220_000, 200_000]);
  });

  test('applies on top of other surcharges', async () => {
    const listed = { inference_geo: 'global', speed: 'standard' };
    const fast = { speed: 'fast' };
    const [first, second, third] = await ask(
      [fast, { ...fast, inference_geo: 'us' }],
      [{ ...fast, inference_geo: 'us' }, listed],
      [fast, listed],
    );
    expect(first?.costNanoUsd).toBe(1_320_000);
    expect(third?.holdNanoUsd).toBe(first?.holdNanoUsd);
    expect(second?.holdNanoUsd).toBeGreaterThan(6.6 * 5_000 * 2_000);
  });
});

describe('predicted output', () => {
  const prediction = { type: 'content', content: 'x'.repeat(10_000) };

  test('is held as output, since rejected predictions are billed as output', async () => {
    const gateway = await budgeted();
    gateway.upstream.queue(reset());
    await gateway.post({ ...PLAIN, max_tokens: 50, prediction });
    const { holdNanoUsd, costNanoUsd, outputTokens } = await recordOf(gateway);
    expect(holdNanoUsd).toBeGreaterThan(10_000 * 2_000);
    expect(outputTokens).toBeGreaterThan(10_000);
    expect(costNanoUsd).toBeLessThanOrEqual(holdNanoUsd);
  });

  test('is not part of the limit that a budget affords', async () => {
    const gateway = await budgeted({ budget: { period: 'daily', capUsd: 0.04 } });
    await gateway.post({ ...PLAIN, prediction });
    const sent = JSON.parse((await gateway.upstream.nextRequest()).body.toString());
    expect(sent.max_tokens).toBeLessThan((0.04 * 1e6) / 2 - 10_000);
  });
});

test('the hold for a thread that the provider stores covers a full context', async () => {
  const gateway = await budgeted();
  await addProvider(gateway, 'claude', { wire: 'anthropic' });
  gateway.upstream.queue(reset());
  const body = { ...PLAIN, model: 'claude/test-model', max_tokens: 5, thread: { type: 'continue' } };
  await gateway.post(body, { path: '/v1/messages' });
  const { holdNanoUsd, inputTokens } = await recordOf(gateway);
  expect([holdNanoUsd >= 1e9, inputTokens >= 1e6]).toEqual([true, true]);
});

test('the hold for a completion covers the larger of two limits, and its prediction', async () => {
  const gateway = await budgeted();
  const prediction = { type: 'content', content: 'x'.repeat(10_000) };
  const body = { model: PLAIN.model, prompt: 'Hi', max_tokens: 5, max_completion_tokens: 5_000, prediction };
  await gateway.post(body, { path: '/v1/completions' });
  expect((await recordOf(gateway)).holdNanoUsd).toBeGreaterThan(15_000 * 2_000);
});

describe('output beyond the limit', () => {
  const USED = { prompt_tokens: 7, completion_tokens: 5 };

  test.each([{ best_of: 20 }, { n: 20 }])(
    'is held for chat answers that are generated and discarded: %j',
    async (more) => {
      const gateway = await budgeted();
      gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify({ usage: USED })));
      await gateway.post({ ...PLAIN, max_tokens: 100, ...more });
      expect((await recordOf(gateway)).holdNanoUsd).toBeGreaterThan(20 * 100 * 2_000);
    },
  );

  test.each([
    [{ reasoning: { max_tokens: 30_000 } }, 30_000],
    [{ reasoning: { effort: 'high' } }, 1_024],
    [{ thinking: { type: 'enabled', budget_tokens: 5_000 } }, 5_000],
    [{ reasoning: { max_tokens: 'many' }, thinking: 7 }, 1_024],
    [{ reasoning: null }, 0],
  ])('is held for where the thoughts of a chat have a limit of their own: %j', async (more, thoughts) => {
    const gateway = await budgeted();
    for (const each of [{}, more]) await gateway.post({ ...PLAIN, max_tokens: 100, ...each });
    const [plain, thinking] = await gateway.settled(2);
    const beyond = (thinking?.holdNanoUsd ?? 0) - (plain?.holdNanoUsd ?? 0);
    expect(beyond).toBeGreaterThanOrEqual(thoughts * 2_000);
    expect(beyond).toBeLessThan(thoughts * 2_000 + 100_000);
  });

  test('is booked for each choice when none of them can be read', async () => {
    const gateway = await budgeted();
    gateway.upstream.script(respond(200, { ...JSON_TYPE, 'content-encoding': 'secret' }, 'x'));
    const thinking = { type: 'enabled', budget_tokens: 5_000 };
    await gateway.post({ ...PLAIN, max_tokens: 100, n: 4, thinking });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 4 * 5_100, flags: ['estimated'] });
  });

  test('is held for a response whose reasoning has a limit of its own', async () => {
    const gateway = await budgeted();
    const body = { model: PLAIN.model, input: 'Hi', max_output_tokens: 100 };
    for (const more of [{}, { reasoning: { max_tokens: 30_000 } }])
      await gateway.post({ ...body, ...more }, { path: '/v1/responses' });
    const [plain, thinking] = await gateway.settled(2);
    const beyond = (thinking?.holdNanoUsd ?? 0) - (plain?.holdNanoUsd ?? 0);
    expect(beyond).toBeGreaterThanOrEqual(30_000 * 2_000);
    expect(beyond).toBeLessThan(30_000 * 2_000 + 100_000);
  });

  test.each([
    [{ reasoning: { max_tokens: 2_000 } }, 2_000],
    [{ reasoning: { effort: 'high' } }, 1_024],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, 2_000],
  ])('is not cut below the thoughts that a chat asks for: %j', async (more, thoughts) => {
    const minimum = { settings: { 'admission.min_output_tokens': 200 } };
    const ask = async (capUsd: number) => {
      const gateway = await startGateway({ ...minimum, budget: { period: 'daily', capUsd } });
      const { status } = await gateway.post({ ...PLAIN, ...more });
      const [sent] = gateway.upstream.requests;
      return { status, limit: sent && JSON.parse(sent.body.toString()).max_tokens };
    };
    expect(await ask(thoughts * 2e-6)).toEqual({ status: 402, limit: undefined });
    const { status, limit } = await ask(thoughts * 2e-6 + 0.001);
    expect(status).toBe(200);
    expect(limit).toBeGreaterThanOrEqual(thoughts + 200);
    expect(limit).toBeLessThan(thoughts + 500);
  });

  test.each([
    [30_000, 30_000],
    [1e308, 0],
  ])('is held for where thoughts of %d tokens have a limit of their own', async (budget_tokens, least) => {
    const gateway = await budgeted();
    await addProvider(gateway, 'claude', { wire: 'anthropic' });
    const body = {
      ...PLAIN,
      model: 'claude/test-model',
      max_tokens: 100,
      thinking: { type: 'enabled', budget_tokens },
    };
    gateway.upstream.queue(
      respond(200, JSON_TYPE, JSON.stringify({ usage: { input_tokens: 7, output_tokens: 5 } })),
    );
    const answer = await gateway.post(body, { path: '/v1/messages' });
    expect(answer.status).toBe(least > 0 ? 200 : 402);
    expect((await gateway.records())[0]?.holdNanoUsd).toBeGreaterThanOrEqual(least * 2_000);
  });
});

describe('a request that translation makes longer', () => {
  const tools = Array.from({ length: 2_000 }, (_, i) => ({ type: 'function', name: `t${i}`, strict: false }));
  const body = { model: PLAIN.model, input: 'Hi', max_output_tokens: 5, tools };
  const bytes = JSON.stringify(body).length;
  const noSuch = respond(404, { 'content-type': 'text/plain' }, '404 page not found');

  async function ask(capUsd: number) {
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd },
      price: { input: 1, output: 1 },
    });
    gateway.upstream.queue(noSuch);
    const answer = await gateway.post(body, { path: '/v1/responses' });
    return { gateway, answer, record: await recordOf(gateway) };
  }

  test('gets a new hold when its provider turns out to have only the other API', async () => {
    const { gateway, answer, record } = await ask(1);
    expect(answer.status).toBe(200);
    const sent = gateway.upstream.requests.map((each) => each.body.length);
    expect(sent[1]).toBeGreaterThan(bytes + 10 * tools.length);
    expect(record.holdNanoUsd).toBeGreaterThan((sent[1] ?? 0) * 1_000);
  });

  /** The worst case of the request as it came, in dollars. */
  async function neededUsd(): Promise<number> {
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd: 1 },
      price: { input: 1, output: 1 },
    });
    const answer = await gateway.post({ ...body, service: { explain: true } }, { path: '/v1/responses' });
    return (answer.json() as { budget: { needs_usd: number } }).budget.needs_usd;
  }

  test('is not sent if a budget has no room for it', async () => {
    const { gateway, answer, record } = await ask(await neededUsd());
    expect([answer.status, answer.header('x-should-retry')]).toEqual([402, 'false']);
    expect(answer.json()).toMatchObject({ error: { code: 'budget_exceeded', budget_id: 'default/daily' } });
    expect(gateway.upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses']);
    expect(record).toMatchObject({ status: 402, outcome: 'blocked', costNanoUsd: 0 });
    expect(record?.detail).toEqual({
      budget: 'default/daily',
      budget_cap_usd: expect.any(Number),
      budget_spent_usd: 0,
      budget_held_usd: 0,
      need: expect.objectContaining({ input_bound: 'bytes' }),
    });
    expect(eventsOf(gateway.db, 'request.blocked')).toMatchObject([
      { data: { budget_id: 'default/daily', model: PLAIN.model } },
    ]);
  });

  test('is a 429 to retry if running requests hold the room', async () => {
    const gateway = await startGateway({
      budget: { period: 'daily', capUsd: (2 * bytes + 10_000) / 1e6 },
      price: { input: 1, output: 1 },
      settings: { 'admission.max_wait_ms': 50 },
    });
    const gate = createGate();
    gateway.upstream.queue(reset({ pace: gate.pass }), noSuch);
    const running = await gateway.open(body, { path: '/v1/responses' });
    await gateway.upstream.nextRequest();
    const answer = await gateway.post(body, { path: '/v1/responses' });
    expect([answer.status, answer.json()]).toMatchObject([429, { error: { code: 'budget_busy' } }]);
    gate.open();
    await gateway.settled(2);
    running.hangUp();
  });
});

test('a second content type is dropped, since the provider might read the body by it', async () => {
  const gateway = await budgeted();
  gateway.upstream.queue(respond(200, JSON_TYPE, '{"usage":{"prompt_tokens":7,"completion_tokens":5}}'));
  const body = Buffer.from(JSON.stringify({ ...PLAIN, max_tokens: 5 }));
  const connection = await openConnection(gateway.url);
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${gateway.key}`,
    'content-type: application/json',
    'content-type: application/json; charset=utf-16',
    `content-length: ${body.length}`,
  ];
  await connection.send(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]));
  const { head: seen } = await gateway.upstream.nextRequest();
  const types = seen.headers.filter(([name]) => name.toLowerCase() === 'content-type');
  expect(types.map(([, value]) => value)).toEqual(['application/json']);
  await recordOf(gateway);
  connection.hangUp();
});

test('chunk extensions and trailers of a body are ignored, and not passed on', async () => {
  const gateway = await budgeted();
  gateway.upstream.queue(respond(200, JSON_TYPE, '{"usage":{"prompt_tokens":7,"completion_tokens":5}}'));
  const body = JSON.stringify({ ...PLAIN, max_tokens: 5 });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: 127.0.0.1',
    `authorization: Bearer ${gateway.key}`,
    'content-type: application/json',
    'transfer-encoding: chunked',
    'trailer: x-service-budget, content-encoding',
  ];
  const chunk = (text: string) => `${text.length.toString(16)};max_tokens=9999\r\n${text}\r\n`;
  const end = '0;n=128\r\nx-service-budget: other\r\ncontent-encoding: gzip\r\n\r\n';
  const connection = await openConnection(gateway.url);
  const text = `${head.join('\r\n')}\r\n\r\n${chunk(body.slice(0, 20))}${chunk(body.slice(20))}${end}`;
  await connection.send(Buffer.from(text));
  const seen = await gateway.upstream.nextRequest();
  expect(JSON.parse(seen.body.toString())).toEqual({ ...PLAIN, model: 'test-model', max_tokens: 5 });
  const names = seen.head.headers.map(([name]) => name.toLowerCase());
  for (const name of ['trailer', 'transfer-encoding', 'content-encoding']) expect(names).not.toContain(name);
  await recordOf(gateway);
  connection.hangUp();
});

describe('usage that no model can have', () => {
  const USED = { prompt_tokens: 7, completion_tokens: 5 };

  test.each([
    [{ ...USED, completion_tokens: 9e15 }, 7, 10_000_000],
    [{ ...USED, prompt_tokens: 9e15 }, 10_000_000, 5],
    [{ ...USED, prompt_tokens: 9e15, prompt_tokens_details: { cached_tokens: 9e15 } }, 10_000_000, 5],
    [{ ...USED, total_tokens: 9e15 }, 7, 10_000_000],
  ])('is cut to what one can: %j', async (usage, input, output) => {
    const gateway = await budgeted({ budget: { period: 'daily', capUsd: 100 } });
    gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify({ usage })));
    await gateway.post({ ...PLAIN, max_tokens: 50 });
    const record = await recordOf(gateway);
    expect(record).toMatchObject({
      inputTokens: input,
      outputTokens: output,
      flags: expect.arrayContaining(['estimated', 'overrun', 'underheld']),
    });
    expect(record.costNanoUsd).toBe(input * 1_000 + output * 2_000);
  });

  test('is not believed as a cost either', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'openrouter');
    gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify({ usage: { ...USED, cost: 9e8 } })));
    await gateway.post({ ...PLAIN, model: 'openrouter/test-model', max_tokens: 50 });
    const { costNanoUsd, flags } = await recordOf(gateway);
    expect([costNanoUsd, flags]).toEqual([10_000 * 1e9, ['estimated', 'overrun', 'underheld']]);
  });
});

describe('a provider that ignores its limit and reports no usage', () => {
  test.each([
    ['measurably', 'gpt-4o', ['estimated', 'overrun']],
    ['in a text that an unknown tokenizer might count as fewer tokens', 'test-model', ['estimated']],
  ])('is booked at the hold, and marked where it wrote more %s', async (_how, model, flags) => {
    const gateway = await budgeted();
    await gateway.setPrice({ model, inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 });
    const content = 'word '.repeat(60);
    gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify({ choices: [{ message: { content } }] })));
    await gateway.post({ ...PLAIN, model: `mock/${model}`, max_tokens: 50 });
    const record = await recordOf(gateway);
    expect(record.flags).toEqual(flags);
    expect(record.costNanoUsd).toBeLessThanOrEqual(record.holdNanoUsd);
    expect(gateway.logged.some(({ msg }) => /wrote more/.test(String(msg)))).toBe(flags.length > 1);
  });
});

describe('a provider that fails', () => {
  test.each([500, 503, 429, 400])('with status %i is booked at nothing', async (status) => {
    const gateway = await budgeted();
    gateway.upstream.queue(
      respond(status, JSON_TYPE, JSON.stringify({ error: { message: 'no' }, choices: [] })),
    );
    await gateway.post({ ...PLAIN, max_tokens: 50 });
    expect(await recordOf(gateway)).toMatchObject({ costNanoUsd: 0, flags: [] });
  });

  test('in mid-stream is booked for what came, and for its reasoning before that', async () => {
    const gateway = await budgeted();
    const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(event({ choices: [{ delta: { content: 'word '.repeat(20) } }] }));
      await exchange.chunk(event({ error: { message: 'overloaded' } }));
      await exchange.finish();
    });
    await gateway.post({ ...STREAM, max_tokens: 200 });
    const record = await recordOf(gateway);
    expect(record).toMatchObject({ outcome: 'upstream_error', flags: ['stream', 'estimated'] });
    expect(record.outputTokens).toBeGreaterThanOrEqual(100);
  });
});

describe('a limit in a field that the provider ignores', () => {
  const body = { ...PLAIN, model: 'deepseek/test-model', max_completion_tokens: 5 };

  test('is copied into the field that it obeys, if a budget relies on it', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'deepseek');
    await gateway.post(body);
    const sent = JSON.parse((await gateway.upstream.nextRequest()).body.toString());
    expect(sent).toEqual({ model: 'test-model', messages: PLAIN.messages, max_tokens: 5 });
  });

  test('is left alone without a budget, and if both fields are set', async () => {
    const gateway = await startGateway();
    await addProvider(gateway, 'deepseek');
    await gateway.post(body);
    await gateway.setBudget({ period: 'daily', capUsd: 10 });
    await gateway.post({ ...body, max_tokens: 3 });
    for (const { body: sent } of gateway.upstream.requests) {
      expect(JSON.parse(sent.toString()).max_completion_tokens).toBe(5);
    }
  });
});

describe('input that is longer than its bytes', () => {
  const chat = (message: object) => ({ messages: [message] });
  const part = (content: object) => chat({ role: 'user', content: [content] });

  test.each([
    [
      'a video by its URL',
      '/chat/completions',
      part({ type: 'video_url', video_url: { url: 'https://a.example/b' } }),
      1_000_000,
    ],
    [
      'a page by its URL',
      '/chat/completions',
      part({ type: 'document_url', document_url: 'https://a' }),
      1_000_000,
    ],
    [
      'data stored at the provider',
      '/chat/completions',
      { ...PLAIN, data_sources: [{ type: 'azure_search' }] },
      1_000_000,
    ],
    [
      'an earlier spoken answer',
      '/chat/completions',
      chat({ role: 'assistant', audio: { id: 'audio_1' } }),
      1_000_000,
    ],
    [
      'a screenshot',
      '/responses',
      { input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', file_id: 'f' } }] },
      12_000,
    ],
    ['a generated image', '/responses', { input: [{ type: 'image_generation_call', id: 'ig_1' }] }, 12_000],
    [
      "a provider's own tools",
      '/chat/completions',
      { ...PLAIN, tools: [{ type: 'computer_20250124', name: 'computer' }] },
      2_200,
    ],
    [
      'chat messages in a completion',
      '/completions',
      part({ type: 'image_url', image_url: { url: 'https://a.example/b' } }),
      12_000,
    ],
    [
      'pictures to embed',
      '/embeddings',
      { input: [{ content: [{ type: 'image_url', image_url: { url: 'https://a.example/b' } }] }] },
      12_000,
    ],
  ])('is held with its bound: %s', async (_what, path, body, least) => {
    const gateway = await budgeted({ alone: true, price: { input: 1, output: 0 } });
    await gateway.post({ ...body, model: PLAIN.model }, { path: `/v1${path}` });
    expect((await recordOf(gateway)).holdNanoUsd / 1_000).toBeGreaterThanOrEqual(least);
  });
});

describe('a body that gw and the provider might parse differently', () => {
  const text = JSON.stringify({ ...PLAIN, max_tokens: 5 });
  const withField = (field: string | Buffer) =>
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from(','), Buffer.from(field), Buffer.from('}')]);

  test.each([
    ['a field in upper case', withField('"N":128'), 400, 'ambiguous_parameter'],
    [
      'a letter that case-folds to another',
      withField('"max_to\u212aens":100000'),
      400,
      'ambiguous_parameter',
    ],
    ['invalid UTF-8', withField(Buffer.from('"n\xff":128', 'latin1')), 400, 'invalid_json'],
  ])('is refused for %s', async (_what, body, status, code) => {
    const gateway = await budgeted();
    const answer = await gateway.post(body);
    expect([answer.status, answer.json()]).toMatchObject([status, { error: { code } }]);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each([
    ['application/json; charset=utf-7', 415],
    ['application/json;charset="UTF-8"', 200],
    ['application/json; charset=utf8', 200],
  ])('is told by its charset: %s', async (type, status) => {
    const gateway = await budgeted();
    expect((await gateway.post(text, { headers: { 'content-type': type } })).status).toBe(status);
  });
});

describe('a free pass-through request', () => {
  test.each(['/files/..;/chat/completions', '/files/%252e%252e/chat/completions'])(
    'is not a path that a server could read as another: %s',
    async (path) => {
      const gateway = await budgeted({ alone: true });
      expect((await gateway.post(PLAIN, { path: `/v1${path}` })).status).toBe(400);
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test('is sent with the path that gw checked, without repeated slashes', async () => {
    const gateway = await budgeted({ alone: true });
    gateway.upstream.queue(respond(200, JSON_TYPE, '{}'));
    await gateway.post(PLAIN, { path: '/v1//uploads//up_1//parts/' });
    expect((await gateway.upstream.nextRequest()).path).toBe('/v1/uploads/up_1/parts');
  });

  test('keeps its method', async () => {
    const gateway = await budgeted({ alone: true });
    gateway.upstream.queue(respond(200, JSON_TYPE, '{}'));
    await gateway.get('/v1/files//list', { 'x-http-method-override': 'POST' });
    const { head } = await gateway.upstream.nextRequest();
    expect(head.headers.map(([name]) => name.toLowerCase())).not.toContain('x-http-method-override');
  });
});

test('gw hangs up on a provider that goes on after the end of a stream', async () => {
  const gateway = await budgeted();
  const gate = createGate();
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    await exchange.chunk('data: [DONE]\n\n');
    await gate.pass();
    for (;;) await exchange.chunk('data: {"choices":[]}\n\n');
  });
  expect((await gateway.post({ ...STREAM, max_tokens: 5 })).text()).toBe('data: [DONE]\n\n');
  gate.openForGood();
  await (await gateway.upstream.nextRequest()).done;
});

test('deferred answers are refused, since their usage could not be booked', async () => {
  const gateway = await budgeted();
  const answer = await gateway.post({ ...PLAIN, deferred: true });
  expect([answer.status, answer.json()]).toMatchObject([400, { error: { param: 'deferred' } }]);
});

describe('the exact count of a request whose bytes do not fit', () => {
  const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const UNREAD = { note: 'A'.repeat(100_000) };
  const ask = (content: unknown[], more: object = {}) => ({
    model: PLAIN.model,
    max_tokens: 5,
    messages: [{ role: 'user', content: [IMAGE, ...content] }],
    metadata: UNREAD,
    ...more,
  });

  /** The bytes of what no model reads alone exceed the budget, so the request has to be counted. */
  async function heldTokens(body: object, path = '/v1/chat/completions'): Promise<number> {
    const gateway = await budgeted({
      budget: { period: 'daily', capUsd: 0.09 },
      price: { input: 1, output: 0 },
    });
    gateway.upstream.queue(reset());
    const answer = await gateway.post(body, { path });
    // What gw doesn't know is refused, as it may fill the model's context.
    if (answer.status === 402)
      return (answer.json() as { error: { need: { input_tokens: number } } }).error.need.input_tokens;
    return (await recordOf(gateway)).holdNanoUsd / 1_000;
  }

  test.each([
    [
      'the keys and numbers of arguments',
      ask([{ type: 'tool_use', input: { values: Array(10_000).fill(7) } }]),
    ],
    ['arguments named like labels', ask([{ type: 'tool_use', input: { id: 'x'.repeat(20_000) } }])],
    ['a field that only its provider knows', ask([], { documents: ['x'.repeat(20_000)] })],
    ['an invented role', { ...ask([]), messages: [{ role: 'x'.repeat(20_000) }, ...ask([]).messages] }],
    ['reasoning in a signature', ask([{ type: 'thinking', thinking: '', signature: 'x'.repeat(20_000) }])],
    [
      'the overhead of calls',
      {
        ...ask([]),
        messages: [
          {
            role: 'assistant',
            tool_calls: Array(1_000).fill({
              type: 'function',
              id: 'a',
              function: { name: 'f', arguments: '' },
            }),
          },
          ...ask([]).messages,
        ],
      },
    ],
    [
      'the overhead of tools',
      ask([], { tools: Array(800).fill({ type: 'function', function: { name: 'f' } }) }),
    ],
    [
      'texts after a number',
      { ...ask([1, 'x'.repeat(20_000)]), messages: [1, ...ask(['x'.repeat(20_000)]).messages] },
    ],
  ])('holds %s', async (_what, body) => {
    expect(await heldTokens(body)).toBeGreaterThan(20_000);
  });

  test('includes a fetching tool, however its name is escaped', async () => {
    const gateway = await budgeted({
      budget: { period: 'daily', capUsd: 0.9 },
      price: { input: 1, output: 0 },
    });
    const body = `{"model":"${PLAIN.model}","input":"Hi","tools":[{"type" : "web\\u005fsearch"}]}`;
    const answer = await gateway.post(body, { path: '/v1/responses' });
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
  });
});

test('all waiting requests that expire at the same moment are decided', async () => {
  const expiries: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, callback) {
      if (delayMs > 1_000) expiries.push(callback);
      return () => {};
    },
  };
  // Only the fields that the queue reads.
  const admission = { projectId: 1, offer: { amount: 1 }, isFinal: true } as Admission;
  const wait = { kind: 'wait' } as AdmissionResult;
  const queue = createAdmissionQueue({ admit: () => turn(wait) }, clock);
  const admit = () => queue.admit(admission, { maxWaitMs: 10_000, isConnected: () => true });
  const first = admit();
  while (expiries.length === 0) await turn();
  const waiting = [first, ...Array.from({ length: 100 }, admit)];
  await turn();
  for (const expire of expiries) expire();
  expect([...new Set(await Promise.all(waiting))]).toEqual([wait]);
});
