import { describe, expect, test } from 'vitest';
import type { RawResponse } from '../support/client.ts';
import type { RecordedRequest } from '../support/exchange.ts';
import { createGate } from '../support/gate.ts';
import { type GatewayOptions, startGateway, type TestGateway } from '../support/gateway.ts';
import { hang, json, reset, type Script, status } from '../support/scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const TRUE_TOKENS = 10_000;
/** 40,000 bytes, which at $1 a million tokens need 4 cents and more. */
const TEXT = 'word '.repeat(8_000);
const MESSAGE = {
  model: 'relay/test-model',
  max_tokens: 300,
  stream: false,
  metadata: { user_id: 'somebody' },
  temperature: 0.5,
  system: [{ type: 'text', text: 'x-anthropic-billing-header: cch=00001;' }],
  messages: [{ role: 'user', content: TEXT }],
};
const RESPONSE = { model: 'mock/test-model', max_output_tokens: 300, store: false, input: TEXT };
/** Room for the count and its margin, not for the bytes. */
const CAP = 0.013;

const errorOf = (answer: RawResponse | undefined) => (answer?.json() as { error: object } | undefined)?.error;
const isCount = ({ path }: RecordedRequest) => /\/(count_tokens|input_tokens)(\?|$)/.test(path);

function message(inputTokens: number): Script {
  return json(200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'test-model',
    content: [{ type: 'text', text: 'Yes' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: inputTokens, output_tokens: 1 },
  });
}

const response: Script = json(200, {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'test-model',
  output: [],
  usage: { input_tokens: TRUE_TOKENS, output_tokens: 1 },
});

const counted = (inputTokens = TRUE_TOKENS): Script => json(200, { input_tokens: inputTokens });

interface Played extends TestGateway {
  ask(body?: object, headers?: Record<string, string>): ReturnType<TestGateway['post']>;
  respond(body?: object): ReturnType<TestGateway['post']>;
  counts(): RecordedRequest[];
  /** Sets what the count endpoint answers. */
  count(script: Script): void;
  /** Sets what a message is reported at. */
  report(inputTokens: number): void;
  lastNeed(): Promise<unknown>;
}

async function start(options: GatewayOptions & { capUsd?: number } = {}): Promise<Played> {
  const { capUsd = CAP, ...rest } = options;
  const gateway = await startGateway({
    budget: { period: 'daily', capUsd },
    credentials: { mock: 'provider-key', relay: 'relay-key' },
    ...rest,
  });
  const { upstream } = gateway;
  gateway.configure({
    providers: { relay: { baseUrl: upstream.url, wire: 'anthropic' } },
    'optimizer.level': 'off',
  } as never);
  await gateway.setPrice({
    provider: 'relay',
    model: 'test-model',
    inputPicoUsd: 1_000_000,
    outputPicoUsd: 2_000_000,
  });
  let countScript = counted();
  let answer = message(TRUE_TOKENS);
  upstream.script(async (exchange) => {
    if (isCount(exchange.request)) return countScript(exchange);
    await (exchange.request.path.includes('/messages') ? answer : response)(exchange);
  });
  return {
    ...gateway,
    ask: (body = {}, headers = {}) =>
      gateway.post({ ...MESSAGE, ...body }, { path: '/v1/messages', headers }),
    respond: (body = {}) => gateway.post({ ...RESPONSE, ...body }, { path: '/v1/responses' }),
    counts: () => upstream.requests.filter(isCount),
    count(script) {
      countScript = script;
    },
    report(inputTokens) {
      answer = message(inputTokens);
    },
    async lastNeed() {
      const record = (await gateway.records()).at(-1);
      return (record?.detail as { need?: unknown } | null)?.need;
    },
  };
}

describe('a request that fits only by the count of its provider', () => {
  test('is sent, and held at the count and a margin', async () => {
    const gateway = await start();
    const answer = await gateway.ask({}, { 'anthropic-beta': 'some-beta', 'idempotency-key': 'one' });
    expect(answer.status).toBe(200);
    await gateway.settled(1);
    expect(await gateway.lastNeed()).toMatchObject({ input_tokens: 11_000, input_bound: 'provider_count' });
    const [count, message] = gateway.upstream.requests;
    expect([count?.path, message?.path]).toEqual(['/v1/messages/count_tokens', '/v1/messages']);
    const { model: _, max_tokens, stream, metadata, temperature, ...prompt } = MESSAGE;
    expect(count?.body.toString()).toBe(JSON.stringify({ model: 'test-model', ...prompt }));
    const headers = Object.fromEntries(count?.head.headers ?? []);
    expect(headers).toMatchObject({ 'x-api-key': 'relay-key', 'anthropic-beta': 'some-beta' });
    expect(headers['idempotency-key']).toBeUndefined();
  });

  test('is counted by what is new in it, where its beginning was counted before', async () => {
    const gateway = await start({ credentials: { anthropic: 'key' }, capUsd: 0.05 });
    const { upstream } = gateway;
    gateway.configure({
      providers: { anthropic: { baseUrl: upstream.url } },
      'optimizer.level': 'off',
    } as never);
    await gateway.setPrice({
      provider: 'anthropic',
      model: 'test-model',
      inputPicoUsd: 1_000_000,
      outputPicoUsd: 2_000_000,
    });
    const model = 'anthropic/test-model';
    expect((await gateway.ask({ model })).status).toBe(200);
    await gateway.settled(1);
    const said = { role: 'assistant', content: 'Yes' };
    const result = { role: 'user', content: `${TEXT}\u00e9` };
    gateway.report(2 * TRUE_TOKENS);
    const messages = [...MESSAGE.messages, said, result];
    expect((await gateway.ask({ model, messages })).status).toBe(200);
    await gateway.settled(2);
    const [count] = gateway.counts();
    expect(JSON.parse(String(count?.body))).toEqual({
      model: 'test-model',
      messages: [{ role: 'user', content: `"Yes"\n${JSON.stringify(result.content)}` }],
    });
    const need = (await gateway.lastNeed()) as { input_tokens: number };
    expect(need).toMatchObject({ input_bound: 'provider_count' });
    // The base, the count with its margin, and what a template may put around three blocks.
    expect(need.input_tokens).toBeGreaterThan(TRUE_TOKENS + 10_600);
    expect(need.input_tokens).toBeLessThan(TRUE_TOKENS + 10_600 + 600);
  });

  test('is counted by the endpoint of its own API', async () => {
    const gateway = await start();
    expect((await gateway.respond()).status).toBe(200);
    const { store, max_output_tokens, ...prompt } = RESPONSE;
    expect(gateway.counts().map(({ path }) => path)).toEqual(['/v1/responses/input_tokens']);
    expect(JSON.parse(String(gateway.counts()[0]?.body))).toEqual({ ...prompt, model: 'test-model' });
    await gateway.settled(1);
    expect(await gateway.lastNeed()).toMatchObject({ input_bound: 'provider_count' });
  });

  test('may have documents and images of its own, which no other bound can size', async () => {
    const gateway = await start();
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
    const content = [
      { type: 'document', source },
      { type: 'text', text: 'Sum it up.' },
    ];
    expect((await gateway.ask({ messages: [{ role: 'user', content }] })).status).toBe(200);
    await gateway.settled(1);
    expect(await gateway.lastNeed()).toMatchObject({ input_tokens: 11_000, input_bound: 'provider_count' });
  });

  test('is counted once, however often it is sent', async () => {
    // No room for the count, so that it is refused each time.
    const gateway = await start({ capUsd: 0.011 });
    const system = [{ type: 'text', text: 'x-anthropic-billing-header: cch=00002;' }];
    const answers = [await gateway.ask(), await gateway.ask({ system, max_tokens: 400 })];
    expect(answers.map(({ status }) => status)).toEqual([402, 402]);
    expect(gateway.counts()).toHaveLength(1);
    expect(errorOf(answers[1])).toMatchObject({
      need: { input_tokens: 11_000, input_bound: 'provider_count' },
    });
    await gateway.setBudget({ period: 'daily', capUsd: CAP });
    expect((await gateway.ask()).status).toBe(200);
    expect(gateway.counts()).toHaveLength(1);
    await gateway.setBudget({ period: 'daily', capUsd: 2 * CAP });
    await gateway.ask({ messages: [{ role: 'user', content: `${TEXT}.` }] });
    expect(gateway.counts()).toHaveLength(2);
  });

  test('is counted once for all that are sent at once', async () => {
    const gateway = await start({ capUsd: 0.011 });
    const gate = createGate();
    gateway.count(async (exchange) => {
      await exchange.until(gate.pass());
      await counted()(exchange);
    });
    const asked = Array.from({ length: 5 }, () => gateway.ask());
    await gateway.upstream.nextRequest();
    gate.open();
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([402, 402, 402, 402, 402]);
    expect(gateway.counts()).toHaveLength(1);
  });

  test('is not held by counts any more once one was too low', async () => {
    const gateway = await start({ capUsd: 1, mayLog: /./ });
    await gateway.setBudget({ period: 'daily', capUsd: CAP });
    gateway.report(11_001);
    expect((await gateway.ask()).status).toBe(200);
    await gateway.settled(1);
    await gateway.setBudget({ period: 'daily', capUsd: 2 * CAP });
    const other = { messages: [{ role: 'user', content: `${TEXT}!` }], system: 'Another' };
    const refused = await gateway.ask({ ...other, tool_choice: { type: 'none' } });
    expect(refused.status).toBe(402);
    expect(errorOf(refused)).toMatchObject({ need: { input_bound: 'bytes' } });
    expect(gateway.counts()).toHaveLength(1);
    const distrusted = gateway.db.prepare('SELECT bound, provider FROM distrusted_bounds').all();
    expect(distrusted).toEqual([{ bound: 'provider_count', provider: 'relay' }]);
  });
});

describe('a request whose answer would be cut short', () => {
  const LONG = { max_tokens: 4_000 };
  const limitOf = ({ body }: RecordedRequest) => JSON.parse(body.toString()).max_tokens;
  /** Room for the bytes, and for about 600 or 1,600 tokens of output. */
  const SHORT_CAP = 0.042;
  const LONGER_CAP = 0.044;

  test('is counted first, and keeps its limit', async () => {
    const gateway = await start({ capUsd: SHORT_CAP });
    expect((await gateway.ask(LONG)).status).toBe(200);
    const [count, message] = gateway.upstream.requests;
    expect(count && isCount(count)).toBe(true);
    expect(message && limitOf(message)).toBe(4_000);
    await gateway.settled(1);
    expect(await gateway.lastNeed()).toMatchObject({ input_tokens: 11_000, input_bound: 'provider_count' });
  });

  test('is sent with the shorter limit where the provider counts nothing', async () => {
    const gateway = await start({ capUsd: SHORT_CAP });
    gateway.count(status(500));
    expect((await gateway.ask(LONG)).status).toBe(200);
    const limit = limitOf(gateway.upstream.requests.at(-1) as RecordedRequest);
    expect(limit).toBeGreaterThanOrEqual(256);
    expect(limit).toBeLessThan(4 * 256);
  });

  test('is not counted where four times the least is left', async () => {
    const gateway = await start({ capUsd: LONGER_CAP });
    expect((await gateway.ask(LONG)).status).toBe(200);
    expect(gateway.counts()).toEqual([]);
    expect(gateway.upstream.requests.map(limitOf)[0]).toBeGreaterThanOrEqual(4 * 256);
  });

  test('is not counted where that would hardly leave more', async () => {
    const gateway = await start({ capUsd: SHORT_CAP });
    await gateway.setBudget({ period: 'daily', capUsd: 1 });
    await gateway.ask(LONG);
    await gateway.settled(1);
    // The same prompt is known by its report, which no count and its margin can be below.
    await gateway.setBudget({ period: 'daily', capUsd: 0.0212 });
    expect((await gateway.ask(LONG)).status).toBe(200);
    expect(gateway.counts()).toEqual([]);
    expect(limitOf(gateway.upstream.requests.at(-1) as RecordedRequest)).toBeLessThan(4 * 256);
  });
});

describe('the count is not asked for', () => {
  test.each<[string, { capUsd?: number; body: object }]>([
    ['where a request fits without it', { capUsd: 1, body: {} }],
    ['where even the least count would not fit', { capUsd: 0.005, body: {} }],
    [
      'with tools that the provider runs',
      { body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } },
    ],
    [
      'with content by address',
      {
        body: {
          messages: [
            {
              role: 'user',
              content: [
                { type: 'text', text: TEXT },
                { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
              ],
            },
          ],
        },
      },
    ],
    ['with a field that nobody knows', { body: { unknown_context: 'x' } }],
  ])('%s', async (_what, { capUsd, body }) => {
    const gateway = await start(capUsd === undefined ? {} : { capUsd });
    expect((await gateway.ask(body)).status).toBe(capUsd === 1 ? 200 : 402);
    expect(gateway.counts()).toEqual([]);
  });

  test('for chat completions', async () => {
    const gateway = await start();
    const chat = { model: 'mock/test-model', max_tokens: 300, messages: MESSAGE.messages };
    expect((await gateway.post(chat)).status).toBe(402);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('while a request only has to wait for a running one', async () => {
    const gateway = await start({ capUsd: 0.05, settings: { 'admission.max_wait_ms': 60_000 } as never });
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await exchange.until(gate.pass());
      await message(TRUE_TOKENS)(exchange);
    });
    const first = gateway.ask();
    await gateway.upstream.nextRequest();
    const second = gateway.ask({
      system: 'Another',
      messages: [{ role: 'user', content: 'abc '.repeat(9_000) }],
    });
    gate.open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect(gateway.counts()).toEqual([]);
  });
});

describe('a count endpoint that', () => {
  /** A prompt of its own each time. */
  const prompt = (n: number) => ({ messages: [{ role: 'user', content: `${n}${TEXT}` }] });

  test.each([404, 405, 501])('is not there (%i) is asked once an hour', async (code) => {
    const clock = createVirtualClock();
    const gateway = await start({ clock });
    gateway.count(json(code, { error: { message: 'Not Found' } }));
    const refused = await gateway.ask(prompt(1));
    expect(refused.status).toBe(402);
    expect(errorOf(refused)).toMatchObject({ need: { input_bound: 'bytes' } });
    await gateway.ask(prompt(2));
    expect(gateway.counts()).toHaveLength(1);
    gateway.count(counted());
    await clock.advance(3_600_001);
    expect((await gateway.ask(prompt(3))).status).toBe(200);
    expect(gateway.counts()).toHaveLength(2);
  });

  test.each<[string, Script]>([
    ['breaks off', reset({ afterBytes: 120 })],
    ['fails', status(500)],
    ['says no number', json(200, { input_tokens: 'many' })],
    ['says a page', json(200, 'hello')],
  ])('%s is left alone for a minute after three times', async (_what, script) => {
    const clock = createVirtualClock();
    const gateway = await start({ clock });
    gateway.count(script);
    for (let n = 0; n < 5; n++) expect((await gateway.ask(prompt(n))).status).toBe(402);
    expect(gateway.counts()).toHaveLength(3);
    gateway.count(counted());
    await clock.advance(60_001);
    expect((await gateway.ask(prompt(9))).status).toBe(200);
  });

  test('does not answer in time is not waited for', async () => {
    const clock = createVirtualClock();
    const gateway = await start({ clock });
    gateway.count(hang());
    const answer = gateway.ask();
    const count = await gateway.upstream.nextRequest();
    await clock.advance(2_000);
    expect((await answer).status).toBe(402);
    await count.done;
    expect(count.hungUp).toBeDefined();
  });
});

test.each([
  ['edit', 'a beta that adds a line at most', 'x-2026-01-01'],
  ['bytes', 'a beta that may render tools anew', 'x-2026-01-01,afk-mode-2026-01-31,new-tools-2026-01-01'],
])('is bounded by %s without %s', async (bound, _what, later) => {
  const gateway = await start({ capUsd: 1 });
  gateway.report(TRUE_TOKENS);
  const betas = 'x-2026-01-01,afk-mode-2026-01-31';
  for (const beta of [betas, betas, later])
    expect((await gateway.ask({}, { 'anthropic-beta': beta })).status).toBe(200);
  const needs = (await gateway.settled(3)).map(({ detail }) => detail.need);
  expect(needs).toMatchObject([{ input_bound: 'bytes' }, { input_bound: 'edit' }, { input_bound: bound }]);
});
