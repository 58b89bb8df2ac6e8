import { expect, onTestFinished, test } from 'vitest';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import type { Exchange } from '../support/exchange.ts';
import { MODEL, PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, type Script } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { send } from '../wire/support/send.ts';

const MESSAGES = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const bodyOf = async (exchange: Exchange) => JSON.parse(String(await exchange.body));
const answer = completionBody('m', 'Hello', usageOf(10, 2));
const streamed = sse([chunkBody('m', { delta: { content: 'Hello' }, finish_reason: 'stop' }), '[DONE]']);

/** A provider that refuses requests with a field, as Mistral does. */
const refusing =
  (field: string, message = `Extra inputs are not permitted: ${field}`): Script =>
  async (exchange) => {
    const body = await bodyOf(exchange);
    const script =
      field in body ? json(422, { error: { message } }) : body.stream ? streamed : json(200, answer);
    await script(exchange);
  };

const sentFields = ({ upstream }: TestGateway) =>
  upstream.requests.map(({ body }) => Object.keys(JSON.parse(String(body))));

test.each([
  ['its own client', '/v1/chat/completions', { ...PLAIN, stream: true }],
  ['a client of messages', '/v1/messages', { ...MESSAGES, stream: true }],
])(
  'a field that gw added and the provider refuses is left out, at once and from then on: %s',
  async (_, path, body) => {
    const upstream = await startUpstream();
    onTestFinished(() => upstream.close());
    const gateway = await startGateway({ upstream });
    upstream.script(refusing('stream_options'));
    for (let i = 0; i < 2; i++) expect((await send(gateway, path, body)).status).toBe(200);
    expect(sentFields(gateway).map((fields) => fields.includes('stream_options'))).toEqual([
      true,
      false,
      false,
    ]);
    const records = await gateway.settled(2);
    expect(records.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
    expect(records[0]?.detail).toMatchObject({ retried_without: ['stream_options'] });
    await gateway.stop();

    const again = await startGateway({ home: gateway.paths.home, upstream });
    expect((await send(again, path, body)).status).toBe(200);
    expect(sentFields(again).at(-1)).not.toContain('stream_options');
    expect(gateway.upstream.requests).toHaveLength(4);
  },
);

test("a field of the client's own is not left out, and there is one such try", async () => {
  const gateway = await startGateway();
  gateway.upstream.script(refusing('stream_options'));
  const body = { ...PLAIN, stream: true, stream_options: { include_usage: true } };
  expect((await gateway.post(body)).status).toBe(422);
  expect(gateway.upstream.requests).toHaveLength(1);

  const stubborn = json(400, { error: { message: 'stream_options is not supported' } });
  gateway.upstream.script(stubborn);
  expect((await gateway.post({ ...PLAIN, stream: true })).status).toBe(400);
  expect(gateway.upstream.requests).toHaveLength(3);
});

test('a model that has no chat completions is asked for a response, and so from then on', async () => {
  const gateway = await startGateway();
  gateway.upstream.script(async (exchange) => {
    const isChat = exchange.request.path.endsWith('/chat/completions');
    const message = 'This model is only supported in v1/responses and not in v1/chat/completions.';
    await (isChat ? json(404, { error: { message } }) : json(200, responseBody([messageItem('Hello')])))(
      exchange,
    );
  });
  for (let i = 0; i < 2; i++) {
    const response = await gateway.post({ ...PLAIN, max_tokens: 5 });
    expect(response.status).toBe(200);
    expect(JSON.parse(String(response.body)).choices[0].message.content).toBe('Hello');
  }
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual([
    '/v1/chat/completions',
    '/v1/responses',
    '/v1/responses',
  ]);
  const records = await gateway.settled(2);
  expect(records.map(({ outcome, flags }) => ({ outcome, flags }))).toEqual([
    { outcome: 'ok', flags: [] },
    { outcome: 'ok', flags: [] },
  ]);
});

test('a provider without /v1/responses is asked for chat completions, also by a client of messages', async () => {
  const gateway = await startGateway({
    settings: { providers: { openai: { baseUrl: 'http://127.0.0.1:1/v1' } } },
    credentials: { mock: 'provider-key', openai: 'provider-key' },
  });
  gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
  gateway.upstream.script(async (exchange) => {
    const isChat = exchange.request.path.endsWith('/chat/completions');
    await (isChat ? json(200, answer) : json(404, { error: { message: 'Not Found' } }))(exchange);
  });
  const body = {
    ...MESSAGES,
    model: 'openai/gpt-5.4',
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  };
  for (let i = 0; i < 2; i++) expect((await send(gateway, '/v1/messages', body)).status).toBe(200);
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual([
    '/v1/responses',
    '/v1/chat/completions',
    '/v1/chat/completions',
  ]);
});
