import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { ProviderSettings } from '../../src/config/settings.ts';
import { createAdmissionQueue } from '../../src/gateway/admission-queue.ts';
import type { Admission, AdmissionResult } from '../../src/store/ledger/ledger.ts';
import { createGate } from '../support/gate.ts';
import { type GatewayOptions, PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';
import { hang, respond } from '../support/scripts.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

function budgeted(options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({ ...BUDGET, ...options });
}

/** A provider beside `mock` on the same upstream, with the same price. */
async function addProvider(gateway: TestGateway, provider: string, settings: ProviderSettings = {}) {
  gateway.configure({ providers: { [provider]: { baseUrl: gateway.upstream.url, ...settings } } });
  await gateway.setPrice({
    provider,
    model: 'test-model',
    inputPicoUsd: 1_000_000,
    outputPicoUsd: 2_000_000,
  });
}

/** The one record, once nothing is held any more. */
async function recordOf(gateway: TestGateway) {
  const [record] = await gateway.settled(1);
  if (!record) throw new Error('nothing is on record');
  return record;
}

describe('what an answer cost', () => {
  test('is counted where it is nested deeper than a stack', async () => {
    const gateway = await budgeted();
    const content = `${'['.repeat(50_000)}"Hello"${']'.repeat(50_000)}`;
    gateway.upstream.queue(respond(200, JSON_TYPE, `{"choices":[{"message":{"content":${content}}}]}`));
    expect((await gateway.post({ ...PLAIN, max_tokens: 50 })).status).toBe(200);
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 'Hello'.length, flags: ['estimated'] });
  });

  const EVENTS = { id: 'x', choices: [{ index: 0, delta: { content: 'word '.repeat(20) } }] };
  const asEvents = (...values: object[]) =>
    `${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')}data: [DONE]\n\n`;

  test.each([{ 'content-type': 'text/plain' }, { 'content-type': 'application/json' }, {}])(
    'is read from events that come as %j',
    async (headers: Record<string, string>) => {
      const gateway = await budgeted();
      const usage = { prompt_tokens: 7, completion_tokens: 20 };
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS, { choices: [], usage })));
      gateway.upstream.queue(respond(200, headers, asEvents(EVENTS)));
      for (const _ of [1, 2]) await gateway.post({ ...STREAM, max_tokens: 200 });
      const [reported, counted] = await gateway.settled(2);
      expect(reported).toMatchObject({ inputTokens: 7, outputTokens: 20, flags: ['stream'] });
      expect(counted).toMatchObject({ outputTokens: 100, flags: ['stream', 'estimated'] });
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
    ['in an encoding that gw does not read', brotliCompressSync('{}'), 'br'],
  ])('is all that was held where the answer is %s', async (_how, body, encoding) => {
    const gateway = await budgeted();
    gateway.upstream.queue(respond(200, { ...JSON_TYPE, 'content-encoding': encoding }, body));
    await gateway.post({ ...PLAIN, max_tokens: 200 });
    expect(await recordOf(gateway)).toMatchObject({ outputTokens: 200, flags: ['estimated'] });
  });

  const usage = (prompt_tokens: number, completion_tokens?: number) => ({ prompt_tokens, completion_tokens });

  test('is counted where a text comes with usage that leaves it out', async () => {
    const gateway = await budgeted();
    const body = { choices: [{ message: { content: 'Hello, Hello' } }], usage: usage(7) };
    gateway.upstream.queue(respond(200, JSON_TYPE, JSON.stringify(body)));
    await gateway.post({ ...PLAIN, max_tokens: 50 });
    expect(await recordOf(gateway)).toMatchObject({ inputTokens: 7, outputTokens: 12, flags: ['estimated'] });
  });

  test('is what the provider says that it charges, searches and all, where it can be believed', async () => {
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

  test('is more than a stream said so far when its client left', async () => {
    const gateway = await budgeted();
    const chunk = (content: string, tokens: number) =>
      `data: ${JSON.stringify({ choices: [{ delta: { content } }], usage: usage(7, tokens) })}\n\n`;
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(chunk('', 0) + chunk('word '.repeat(20), 1));
      await exchange.untilGone();
    });
    const connection = await gateway.open({ ...STREAM, max_tokens: 200 });
    await connection.bodyUntil('word');
    connection.hangUp();
    const record = await recordOf(gateway);
    expect(record).toMatchObject({ inputTokens: 7, flags: ['stream', 'estimated'] });
    expect(record.outputTokens).toBeGreaterThanOrEqual(100);
  });

  test.each(['leaves', 'is cut off'])(
    'is more than the opening of a message says when its client %s',
    async (how) => {
      const gateway = await budgeted();
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
        await (how === 'leaves' ? exchange.untilGone() : exchange.finish());
      });
      const body = { ...STREAM, model: 'claude/test-model', max_tokens: 200 };
      const connection = await gateway.open(body, { path: '/v1/messages' });
      await connection.bodyUntil('word');
      if (how === 'leaves') connection.hangUp();
      const record = await recordOf(gateway);
      expect(record).toMatchObject({ inputTokens: 7, flags: ['stream', 'estimated'] });
      expect(record.outputTokens).toBeGreaterThanOrEqual(100);
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
  ])(
    'holds the bound of %s that is only pointed at, where usage is missing',
    async (_what, path, body, least) => {
      const gateway = await budgeted();
      gateway.upstream.queue(hang());
      const connection = await gateway.open({ model: PLAIN.model, ...body }, { path });
      await gateway.upstream.nextRequest();
      connection.hangUp();
      expect((await recordOf(gateway)).inputTokens).toBeGreaterThanOrEqual(least);
    },
  );
});

describe('what costs more than the model', () => {
  const USED = { prompt_tokens: 100, completion_tokens: 50 };

  test.each([
    [{ service_tier: 'priority' }, 2.5],
    [{ service_tier: 'fast' }, 2.5],
    [{ service_tier: 'ultrafast' }, 6],
    [{ service_tier: 'flex', speed: 'fast', inference_geo: 'us' }, 6.6],
  ])('is held and booked at that price: %j', async (terms, factor) => {
    const gateway = await budgeted();
    gateway.upstream.script(respond(200, JSON_TYPE, JSON.stringify({ usage: USED })));
    for (const more of [{}, terms]) await gateway.post({ ...PLAIN, max_tokens: 50, ...more });
    const [listed, dearer] = await gateway.settled(2);
    expect(listed?.costNanoUsd).toBe(200_000);
    expect(dearer?.costNanoUsd).toBe(200_000 * factor);
    expect(dearer?.holdNanoUsd).toBeGreaterThanOrEqual((listed?.holdNanoUsd ?? 0) * factor);
  });

  test.each([
    { models: ['openai/gpt-5-pro'] },
    { fallbacks: [{ model: 'claude-opus-4-6' }] },
    { plugins: [{ id: 'web' }] },
    { service_tier: 'warp' },
    { speed: 7 },
  ])('is refused where nobody knows by how much: %j', async (terms) => {
    const gateway = await budgeted();
    const answer = await gateway.post({ ...PLAIN, max_tokens: 50, ...terms });
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
    expect(answer.json()).toMatchObject({ error: { code: 'cost_unbounded', param: Object.keys(terms)[0] } });
  });

  test('goes out where there is no budget, and where it is empty', async () => {
    const gateway = await startGateway();
    expect((await gateway.post({ ...PLAIN, models: ['a', 'b'] })).status).toBe(200);
    await gateway.setBudget({ period: 'daily', capUsd: 10 });
    expect((await gateway.post({ ...PLAIN, models: [], plugins: null })).status).toBe(200);
  });
});

describe('a limit in the field that a provider passes over', () => {
  const body = { ...PLAIN, model: 'deepseek/test-model', max_completion_tokens: 5 };

  test('is put into the one that it heeds, where a budget holds by it', async () => {
    const gateway = await budgeted();
    await addProvider(gateway, 'deepseek');
    await gateway.post(body);
    const sent = JSON.parse((await gateway.upstream.nextRequest()).body.toString());
    expect(sent).toEqual({ model: 'test-model', messages: PLAIN.messages, max_tokens: 5 });
  });

  test('stays where there is no budget, and where both are given', async () => {
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

describe('input that is longer than it looks', () => {
  const chat = (message: object) => ({ messages: [message] });
  const part = (content: object) => chat({ role: 'user', content: [content] });

  test.each([
    [
      'a video by its address',
      '/chat/completions',
      part({ type: 'video_url', video_url: { url: 'https://a.example/b' } }),
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
    [
      'an image that was generated',
      '/responses',
      { input: [{ type: 'image_generation_call', id: 'ig_1' }] },
      12_000,
    ],
    [
      "a provider's own tools",
      '/chat/completions',
      { ...PLAIN, tools: [{ type: 'computer_20250124', name: 'computer' }] },
      2_200,
    ],
  ])('is held with its bound: %s', async (_what, path, body, least) => {
    const gateway = await budgeted({ price: { input: 1, output: 0 } });
    await gateway.post({ ...body, model: PLAIN.model }, { path: `/v1${path}` });
    expect((await recordOf(gateway)).holdNanoUsd / 1_000).toBeGreaterThanOrEqual(least);
  });
});

describe('a body that gw and its provider could read differently', () => {
  const text = JSON.stringify({ ...PLAIN, max_tokens: 5 });
  const withField = (field: string | Buffer) =>
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from(','), Buffer.from(field), Buffer.from('}')]);

  test.each([
    ['a field in capitals', withField('"N":128'), 400, 'ambiguous_parameter'],
    ['a letter that folds to another', withField('"max_to\u212aens":100000'), 400, 'ambiguous_parameter'],
    ['bytes that are no UTF-8', withField(Buffer.from('"n\xff":128', 'latin1')), 400, 'ambiguous_parameter'],
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

describe('what is passed through for nothing', () => {
  test.each([
    '/files/..;/chat/completions',
    '/files/%252e%252e/chat/completions',
    '/files//chat/completions',
  ])('is no path that a server could read as another: %s', async (path) => {
    const gateway = await budgeted();
    expect((await gateway.post(PLAIN, { path: `/v1${path}` })).status).toBe(402);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('is the method that it came with', async () => {
    const gateway = await budgeted();
    gateway.upstream.queue(respond(200, JSON_TYPE, '{}'));
    await gateway.get('/v1/chat//completions', { 'x-http-method-override': 'POST' });
    const { head } = await gateway.upstream.nextRequest();
    expect(head.headers.map(([name]) => name.toLowerCase())).not.toContain('x-http-method-override');
  });
});

test('a provider that goes on behind the end of a stream is hung up on', async () => {
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

test('an answer that would come when nobody accounts for it is not asked for', async () => {
  const gateway = await budgeted();
  const answer = await gateway.post({ ...PLAIN, deferred: true });
  expect([answer.status, answer.json()]).toMatchObject([400, { error: { param: 'deferred' } }]);
});

describe('where the bytes of a request do not fit, what is counted of it', () => {
  const IMAGE = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } };
  const ask = (content: unknown[], more: object = {}) => ({
    model: PLAIN.model,
    max_tokens: 5,
    messages: [{ role: 'user', content: [IMAGE, ...content] }],
    ...more,
  });

  /** An image has to be counted apart here, as its bytes are worth more than the budget. */
  async function heldTokens(body: object, path = '/v1/chat/completions'): Promise<number> {
    const gateway = await budgeted({
      budget: { period: 'daily', capUsd: 0.09 },
      price: { input: 1, output: 0 },
    });
    gateway.upstream.queue(hang());
    const connection = await gateway.open(body, { path });
    await gateway.upstream.nextRequest();
    connection.hangUp();
    return (await recordOf(gateway)).holdNanoUsd / 1_000;
  }

  test.each([
    [
      'the keys and numbers of arguments',
      ask([{ type: 'tool_use', input: { values: Array(10_000).fill(7) } }]),
    ],
    ['arguments that are called like labels', ask([{ type: 'tool_use', input: { id: 'x'.repeat(20_000) } }])],
    ['a field that only its provider knows', ask([], { documents: ['x'.repeat(20_000)] })],
    [
      'texts behind a number',
      { ...ask([1, 'x'.repeat(20_000)]), messages: [1, ...ask(['x'.repeat(20_000)]).messages] },
    ],
  ])('holds %s', async (_what, body) => {
    expect(await heldTokens(body)).toBeGreaterThan(20_000);
  });

  test('sees a tool that fetches, however it is spelled', async () => {
    const gateway = await budgeted({
      budget: { period: 'daily', capUsd: 0.9 },
      price: { input: 1, output: 0 },
    });
    const body = `{"model":"${PLAIN.model}","input":"Hi","tools":[{"type" : "web\\u005fsearch"}]}`;
    const answer = await gateway.post(body, { path: '/v1/responses' });
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
  });
});

test('of a line of waiting requests, all are decided whose time is up at the same moment', async () => {
  const expiries: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    after(delayMs, callback) {
      if (delayMs > 1_000) expiries.push(callback);
      return () => {};
    },
  };
  // Only who is asked for by the queue; the rest of an admission is the ledger's.
  const admission = { projectId: 1, amount: 1, final: true } as Admission;
  const wait = { kind: 'wait' } as AdmissionResult;
  const queue = createAdmissionQueue({ admit: () => turn(wait) }, clock);
  const admit = () => queue.admit(admission, { maxWaitMs: 10_000, wanted: () => true });
  const first = admit();
  while (expiries.length === 0) await turn();
  const waiting = [first, ...Array.from({ length: 100 }, admit)];
  await turn();
  for (const expire of expiries) expire();
  expect([...new Set(await Promise.all(waiting))]).toEqual([wait]);
});
