import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { openConnection, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json, respond } from '../support/scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { events } from '../wire/support/event-scripts.ts';
import { send, sentBody, sentHeader } from '../wire/support/send.ts';

const BUDGET = { capUsd: 1, period: 'daily' } as const;
const SPEECH = { model: 'mock/test-model', voice: 'alloy', input: 'Hello' };
const sdk = (gateway: TestGateway) =>
  new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });

test('speech is passed through unchanged, and recorded as unmetered', async () => {
  const gateway = await startGateway();
  const sound = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 256));
  gateway.upstream.queue(respond(200, { 'content-type': 'audio/mpeg' }, sound));
  const response = await sdk(gateway).audio.speech.create(SPEECH);
  expect(Buffer.from(await response.arrayBuffer()).equals(sound)).toBe(true);
  expect(sentBody(gateway)).toEqual({ ...SPEECH, model: 'test-model' });
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    endpoint: 'audio/speech',
    provider: 'mock',
    model: 'test-model',
    costNanoUsd: 0,
    flags: ['unmetered'],
  });
});

test('speech reaches the client while the provider still sends', async () => {
  const gateway = await startGateway();
  const gate = createGate();
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'audio/mpeg' });
    await exchange.chunk('first');
    await gate.pass();
    await exchange.finish();
  });
  const connection = await openConnection(gateway.url);
  const headers = { authorization: `Bearer ${gateway.key}` };
  await connection.send(requestBytes(`${gateway.url}/audio/speech`, { headers, body: SPEECH }));
  expect((await connection.bodyUntil('first')).toString()).toBe('first');
  connection.hangUp();
  await gateway.get('/health');
  gate.open();
  expect((await gateway.settled(1))[0]).toMatchObject({ outcome: 'client_gone', flags: ['unmetered'] });
});

test('a form keeps its file, gets the model name of the provider, and its reported usage is booked', async () => {
  const gateway = await startGateway();
  const usage = { type: 'tokens', input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  gateway.upstream.queue(json(200, { text: 'Hello', usage }));
  const file = new File([readFileSync(import.meta.filename)], 'speech.wav');
  const answer = await sdk(gateway).audio.transcriptions.create({ model: 'mock/test-model', file });
  expect(answer.text).toBe('Hello');
  const sent = gateway.upstream.requests[0]?.body.toString() ?? '';
  expect(sent).toContain(readFileSync(import.meta.filename, 'utf8'));
  expect(sent).toMatch(/name="model"\r\n\r\ntest-model\r\n/);
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    endpoint: 'audio/transcriptions',
    inputTokens: 100,
    outputTokens: 10,
    costNanoUsd: 120_000,
    flags: [],
  });
});

test('usage in any stream is booked', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(
    events([
      ['image_generation.partial_image', { type: 'image_generation.partial_image', b64_json: 'AAAA' }],
      ['image_generation.completed', { usage: { input_tokens: 10, output_tokens: 20, total_tokens: 30 } }],
    ]),
  );
  const body = { model: 'mock/test-model', prompt: 'A cat', stream: true };
  const response = await send(gateway, '/v1/images/generations', body);
  expect(response.text()).toContain('b64_json');
  expect((await gateway.records())[0]).toMatchObject({
    inputTokens: 10,
    outputTokens: 20,
    flags: ['stream'],
  });
});

test('files, lists and unknown endpoints are passed through with method, query and answer', async () => {
  const gateway = await startGateway({ alone: true });
  gateway.upstream.script(async (exchange) => {
    const { method, path } = exchange.request;
    const body = JSON.stringify({ method, path, body: (await exchange.body).toString() });
    await exchange.send(
      method === 'DELETE' ? 202 : 200,
      { 'content-type': 'application/json', 'x-own': '1' },
      body,
    );
  });
  const cases = [
    ['GET', '/v1/files?limit=2&after=file-1', '/v1/files?limit=2&after=file-1'],
    ['DELETE', '/v1/vector_stores/vs_1/files/file-2', '/v1/vector_stores/vs_1/files/file-2'],
    ['GET', '/v1/v1/batches/batch_1', '/v1/batches/batch_1'],
    ['PATCH', '/v1/endpoint-of-tomorrow', '/v1/endpoint-of-tomorrow'],
  ] as const;
  for (const [method, path, there] of cases) {
    const body = method === 'PATCH' ? '{"a":1}' : undefined;
    const response = await send(gateway, path, body, { method });
    expect(response.status).toBe(method === 'DELETE' ? 202 : 200);
    expect(response.json()).toEqual({ method, path: there, body: body ?? '' });
    expect(response.header('x-own')).toBe('1');
  }
  expect((await gateway.records()).map(({ endpoint }) => endpoint)).toEqual([
    'files',
    'vector_stores/{id}/files/{id}',
    'batches/{id}',
    'endpoint-of-tomorrow',
  ]);
});

test('a stored answer that is fetched again is not booked again', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(json(200, { object: 'response', usage: { input_tokens: 9, output_tokens: 9 } }));
  await gateway.get('/v1/responses/resp_1');
  expect((await gateway.records())[0]).toMatchObject({ inputTokens: 0, costNanoUsd: 0, flags: [] });
});

test('a budget refuses requests of unbounded cost, and the error names the setting that allows them', async () => {
  const gateway = await startGateway({ alone: true, budget: BUDGET });
  gateway.upstream.script(json(200, { data: [] }));
  const refused = await send(gateway, '/v1/audio/speech', SPEECH);
  expect(refused.status).toBe(402);
  expect(refused.header('x-should-retry')).toBe('false');
  expect(refused.json()).toMatchObject({
    error: {
      code: 'cost_unbounded',
      message: expect.stringContaining('gw config set passthrough.unmetered allow'),
    },
  });
  expect(gateway.upstream.requests).toHaveLength(0);
  expect((await gateway.records())[0]).toMatchObject({ outcome: 'refused', status: 402 });

  const free = { model: 'mock/test-model', input: 'Hello' };
  expect((await send(gateway, '/v1/files', free)).status).toBe(200);
  expect((await gateway.get('/v1/files')).status).toBe(200);
});

test('if allowed, they run until the budget is spent', async () => {
  const gateway = await startGateway({
    budget: { ...BUDGET, capUsd: 0.001 },
    settings: { 'passthrough.unmetered': 'allow' },
  });
  const usage = { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 };
  gateway.upstream.script(json(200, { data: [], usage }));
  const body = { model: 'mock/test-model', prompt: 'A cat' };
  expect((await send(gateway, '/v1/images/generations', body)).status).toBe(200);
  const blocked = await send(gateway, '/v1/images/generations', body);
  expect(blocked.json()).toMatchObject({ error: { code: 'budget_exceeded' } });
  const [first] = await gateway.records();
  expect(first).toMatchObject({ costNanoUsd: 2_000_000, flags: ['overrun'] });
});

test('the provider is that of the model, else of the header, else the only one; otherwise the header is required', async () => {
  const gateway = await startBothWires({ alone: true });
  gateway.upstream.script(json(200, { ok: true }));
  await gateway.get('/v1/files');
  expect(sentHeader(gateway, 'authorization')).toBe('Bearer provider-key');
  await gateway.get('/v1/files', { 'x-service-provider': 'anthropic' });
  expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
  expect(sentHeader(gateway, 'x-service-provider')).toBeUndefined();
  await gateway.get('/v1/files', { 'anthropic-version': '2023-06-01' });
  expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
  expect((await gateway.get('/v1/files', { 'x-service-provider': 'none' })).json()).toMatchObject({
    error: { code: 'provider_not_found' },
  });
  gateway.configure({ providers: { other: { baseUrl: gateway.upstream.url } } });
  expect((await gateway.get('/v1/files')).json()).toMatchObject({
    error: { code: 'provider_ambiguous', param: 'x-service-provider' },
  });
});

test('tokens of a message are counted by Anthropic, and not booked', async () => {
  const gateway = await startBothWires({ budget: BUDGET });
  gateway.upstream.script(json(200, { input_tokens: 14 }));
  const body = { model: `anthropic/${CLAUDE}`, messages: [{ role: 'user', content: 'Hi' }] };
  for (const path of ['/v1/messages/count_tokens?beta=true', '/messages/count_tokens?beta=true']) {
    expect((await send(gateway, path, body)).json()).toEqual({ input_tokens: 14 });
    expect(gateway.upstream.requests.at(-1)?.path).toBe('/v1/messages/count_tokens?beta=true');
    expect(sentBody(gateway)).toEqual({ ...body, model: CLAUDE });
  }
  const [record] = await gateway.records();
  expect(record).toMatchObject({ endpoint: 'messages/count_tokens', costNanoUsd: 0, flags: [] });
});

test('tokens of a message to a model of another API are counted by gw', async () => {
  const gateway = await startBothWires();
  const messages = [{ role: 'user', content: 'word '.repeat(1000) }];
  const body = { model: 'mock/test-model', messages, tools: [{ name: 'f', input_schema: {} }] };
  const response = await send(gateway, '/v1/messages/count_tokens', body);
  const { input_tokens } = response.json() as { input_tokens: number };
  expect(input_tokens).toBeGreaterThanOrEqual(1000);
  expect(input_tokens).toBeLessThan(1050);
  expect(gateway.upstream.requests).toHaveLength(0);
  expect((await gateway.records())[0]).toMatchObject({ endpoint: 'messages/count_tokens', costNanoUsd: 0 });
});

test('paths with .. and paths of gw itself are not passed on', async () => {
  const gateway = await startGateway();
  for (const [path, status] of [
    ['/v1/files/../../admin', 400],
    ['/v1/files/%2e%2e/x', 400],
    ['/v1/budgets/a/b/c', 404],
    ['/v1/models/a/b/c', 404],
  ] as const) {
    expect((await send(gateway, path, undefined, { method: 'GET', path })).status).toBe(status);
  }
  expect(gateway.upstream.requests).toHaveLength(0);
});

test.each<[string, object]>([
  ['batches', { input_file_id: 'file-1' }],
  ['messages/batches', { requests: [] }],
  ['fine_tuning/jobs', { training_file: 'file-1', model: 'mock/test-model' }],
  ['evals/eval_1/runs', {}],
  ['videos', { model: 'mock/test-model', prompt: 'A cat' }],
  ['vector_stores', {}],
  ['threads/runs', { assistant_id: 'asst_1' }],
  ['responses', { model: 'mock/test-model', input: 'Hi', background: true }],
  ['responses', { model: 'mock/test-model', input: 'Hi', background: 'true' }],
])('a budget refuses %s, which spends after its answer, with the reason: %j', async (path, body) => {
  const gateway = await startGateway({ alone: true, budget: BUDGET });
  const headers = { 'x-service-provider': 'mock' };
  const refused = await send(gateway, `/v1/${path}`, body, { headers });
  const isBackground = path === 'responses';
  expect(refused.status).toBe(isBackground ? 400 : 402);
  expect(refused.json()).toMatchObject({
    error: isBackground ? { param: 'background' } : { code: 'cost_unbounded', budget_id: 'default/daily' },
  });
  expect(gateway.upstream.requests).toHaveLength(0);
});
