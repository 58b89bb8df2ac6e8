import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { json, respond, status } from '../support/scripts.ts';
import { cut, sse } from '../support/sse-scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { either, events, readEvents } from '../wire/support/event-scripts.ts';
import {
  anthropicError,
  messageBody,
  messageStream,
  messageUsage,
  text,
  toolUse,
} from '../wire/support/messages-shapes.ts';
import { send, sentBody, sentHeader } from '../wire/support/send.ts';

const CHAT = { model: `anthropic/${CLAUDE}`, messages: [{ role: 'user' as const, content: 'Hi' }] };
const MESSAGES = { model: 'mock/test-model', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const STREAMED = { stream: true as const, stream_options: { include_usage: true } };
const BUDGET = { capUsd: 0.01, period: 'daily' } as const;

test('the OpenAI SDK uses a model of Anthropic, plain and streamed, and both are booked', async () => {
  const gateway = await startBothWires();
  const usage = messageUsage(10, 100, { cache_read_input_tokens: 1000 });
  gateway.upstream.script(
    either(
      messageBody([text('Hello you')], { usage }),
      messageStream([text('Hello you')], { startUsage: usage, endUsage: { output_tokens: 100 } }),
    ),
  );
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const plain = await client.chat.completions.create({ ...CHAT, max_tokens: 500, temperature: 0.5 });
  expect(plain.choices[0]).toMatchObject({ message: { content: 'Hello you' }, finish_reason: 'stop' });
  expect(plain.usage).toMatchObject({ prompt_tokens: 1010, completion_tokens: 100 });
  expect(gateway.upstream.requests[0]?.path).toBe('/v1/messages');
  expect(sentBody(gateway)).toEqual({
    model: CLAUDE,
    max_tokens: 500,
    temperature: 0.5,
    messages: [{ role: 'user', content: [text('Hi')] }],
  });
  expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
  expect(sentHeader(gateway, 'anthropic-version')).toBe('2023-06-01');

  const stream = client.chat.completions.stream({ ...CHAT, ...STREAMED });
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe('Hello you');
  expect(final.usage).toMatchObject({ prompt_tokens: 1010, completion_tokens: 100 });
  const records = await gateway.records();
  const cost = 10 * 3000 + 1000 * 300 + 100 * 15_000;
  expect(records).toMatchObject([
    {
      endpoint: 'chat/completions',
      provider: 'anthropic',
      model: CLAUDE,
      askedModel: CHAT.model,
      costNanoUsd: cost,
      flags: [],
    },
    { endpoint: 'chat/completions', costNanoUsd: cost, flags: ['stream'], outcome: 'ok' },
  ]);
});

test('usage that the client did not request is hidden and booked', async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(events(messageStream([text('Hello')])));
  const response = await send(gateway, '/v1/chat/completions', { ...CHAT, stream: true });
  expect(response.text()).not.toContain('"usage"');
  expect(response.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(response.header('content-type')).toContain('text/event-stream');
  expect((await gateway.records())[0]).toMatchObject({ inputTokens: 20, outputTokens: 5 });
});

test('a tool loop with parallel calls, streamed', async () => {
  const gateway = await startBothWires();
  const calls = [toolUse('toolu_1', 'weather', { city: 'Bonn' }), toolUse('toolu_2', 'clock', {})];
  gateway.upstream.queue(
    events(messageStream(calls, { stopReason: 'tool_use' })),
    json(200, messageBody([text('Fine')])),
  );
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const tools = ['weather', 'clock'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object' } },
  }));
  const first = await client.chat.completions.stream({ ...CHAT, tools }).finalChatCompletion();
  const message = first.choices[0]?.message;
  if (!message) throw new Error('there is no message');
  expect(message.tool_calls).toMatchObject([
    { id: 'toolu_1', function: { name: 'weather', arguments: '{"city":"Bonn"}' } },
    { id: 'toolu_2', function: { name: 'clock', arguments: '{}' } },
  ]);
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: id,
  }));
  const second = await client.chat.completions.create({
    ...CHAT,
    tools,
    messages: [...CHAT.messages, message, ...results],
  });
  expect(second.choices[0]?.message.content).toBe('Fine');
  expect(sentBody(gateway).messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: calls },
    { role: 'user', content: [{ tool_use_id: 'toolu_1' }, { tool_use_id: 'toolu_2' }] },
  ]);
});

test("max_tokens is the client's limit, or the limit that the budget allows", async () => {
  const gateway = await startBothWires({ budget: { ...BUDGET, capUsd: 0.1 } });
  gateway.upstream.script(json(200, messageBody([text('Hello')])));
  expect((await send(gateway, '/v1/chat/completions', CHAT)).status).toBe(200);
  const limit = Number(sentBody(gateway).max_tokens);
  expect(limit).toBeGreaterThan(5000);
  expect(limit).toBeLessThan(6700);
  await send(gateway, '/v1/chat/completions', { ...CHAT, max_completion_tokens: 300 });
  expect(sentBody(gateway).max_tokens).toBe(300);
});

test("a field that Anthropic's API can't express is refused in the client's error format", async () => {
  const gateway = await startBothWires();
  const response = await send(gateway, '/v1/chat/completions', { ...CHAT, n: 2 });
  expect(response.status).toBe(400);
  expect(response.json()).toMatchObject({
    error: { param: 'n', code: 'unsupported_parameter', type: 'invalid_request_error' },
  });
  const embedding = await send(gateway, '/v1/embeddings', { model: CHAT.model, input: 'x' });
  expect(embedding.json()).toMatchObject({ error: { param: 'model', code: 'unsupported_endpoint' } });
  expect((await gateway.records()).map(({ outcome }) => outcome)).toEqual(['refused', 'refused']);
});

test('fields named like properties of every object are treated like other fields', async () => {
  const gateway = await startBothWires();
  for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    const field = `"${key}":{"model":"x"}`;
    const chat = `{"model":"${CHAT.model}","messages":[{"role":"user","content":"Hi"}],${field}}`;
    const message = `{"model":"mock/test-model","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],${field}}`;
    const response = `{"model":"${CHAT.model}","input":"Hi",${field}}`;
    for (const [path, body] of [
      ['/v1/chat/completions', chat],
      ['/v1/messages', message],
      ['/v1/responses', response],
    ] as const) {
      const answer = await send(gateway, path, body);
      expect([answer.status, answer.text()]).toEqual([400, expect.stringContaining(`\\"${key}\\"`)]);
    }
  }
  expect(gateway.upstream.requests).toHaveLength(0);
});

test("provider errors have the client's error format and keep their status and headers", async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(
    json(429, anthropicError('rate_limit_error', 'Slow down'), {
      'retry-after': '3',
      'request-id': 'req_up',
    }),
    status(429, { retryAfter: '4' }),
  );
  const chat = await send(gateway, '/v1/chat/completions', CHAT);
  expect(chat.status).toBe(429);
  expect(chat.header('retry-after')).toBe('3');
  expect(chat.header('x-request-id')).toBe('req_up');
  expect(chat.json()).toEqual({
    error: { message: 'Slow down', type: 'rate_limit_error', param: null, code: null },
  });
  const message = await send(gateway, '/v1/messages', MESSAGES);
  expect(message.header('retry-after')).toBe('4');
  expect(message.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
});

test("a client of Anthropic's API uses a model behind OpenAI's API, plain and streamed, and both are booked", async () => {
  const gateway = await startBothWires();
  const usage = usageOf(100, 10, 60);
  gateway.upstream.queue(completion({ content: 'Hello you', usage }), sse(['Hello', ' you'], { usage }));
  const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'x' };
  const plain = await send(gateway, '/v1/messages?beta=true', MESSAGES, { headers });
  expect(plain.json()).toMatchObject({
    type: 'message',
    content: [text('Hello you')],
    stop_reason: 'end_turn',
    usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 10 },
  });
  expect(gateway.upstream.requests[0]?.path).toBe('/v1/chat/completions');
  expect(sentBody(gateway)).toEqual({
    model: 'test-model',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect(sentHeader(gateway, 'anthropic-beta')).toBeUndefined();
  expect(sentHeader(gateway, 'authorization')).toBe('Bearer provider-key');

  const streamed = await send(gateway, '/v1/messages', { ...MESSAGES, stream: true });
  const list = readEvents(streamed.body);
  expect(list.map(([name]) => name)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(list.at(-2)?.[1]).toMatchObject({ usage: { input_tokens: 40, output_tokens: 10 } });
  expect(await gateway.records()).toMatchObject([
    { endpoint: 'messages', provider: 'mock', inputTokens: 100, cachedInputTokens: 60, outputTokens: 10 },
    { endpoint: 'messages', provider: 'mock', inputTokens: 100, flags: ['stream'] },
  ]);
});

test('a broken stream gets no end, in either direction', async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(
    events(messageStream([text('Hello you')]).slice(0, 5), { end: 'reset' }),
    cut({ afterChunks: 2 }),
  );
  const chat = await send(gateway, '/v1/chat/completions', { ...CHAT, stream: true });
  expect(chat.complete).toBe(false);
  expect(chat.text()).not.toMatch(/\[DONE\]|"finish_reason":"/);
  const message = await send(gateway, '/v1/messages', { ...MESSAGES, stream: true });
  expect(message.complete).toBe(false);
  expect(message.text()).not.toContain('message_stop');
  expect((await gateway.settled(2)).map(({ outcome }) => outcome)).toEqual([
    'upstream_failed',
    'upstream_failed',
  ]);
});

test('a stream may end without [DONE] and empty line; an answer that cannot be read is a 502', async () => {
  const gateway = await startBothWires();
  const chunks = [chunkBody('m', { delta: { content: 'Hi' } }), chunkBody('m', { finish_reason: 'stop' })];
  const stream = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}`).join('\n\n');
  gateway.upstream.queue(
    respond(200, { 'content-type': 'text/event-stream' }, stream),
    respond(200, { 'content-type': 'text/event-stream', 'content-encoding': 'br' }, 'no such thing'),
    respond(200, { 'content-type': 'text/html' }, '<html>'),
  );
  const streamed = await send(gateway, '/v1/messages', { ...MESSAGES, stream: true });
  expect(readEvents(streamed.body).at(-1)?.[0]).toBe('message_stop');
  // A stream is found to be unreadable when its head has gone out.
  const broken = await send(gateway, '/v1/messages', { ...MESSAGES, stream: true });
  expect(broken.text()).not.toContain('message_stop');
  const response = await send(gateway, '/v1/messages', MESSAGES);
  expect(response.status).toBe(502);
  expect(response.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } });
  expect((await gateway.settled(3)).slice(1)).toMatchObject([
    { outcome: 'upstream_failed' },
    { status: 502, outcome: 'upstream_failed' },
  ]);
});

test('media cannot be translated: the client gets a 502 instead', async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(respond(200, { 'content-type': 'image/png' }, Buffer.from([0x89, 0x50])));
  const response = await send(gateway, '/v1/messages', MESSAGES);
  expect([response.status, response.header('content-type')]).toEqual([502, 'application/json']);
  expect(response.json()).toMatchObject({ error: { message: expect.stringContaining('translate') } });
  expect(await gateway.settled(1)).toMatchObject([{ status: 502, outcome: 'upstream_failed' }]);
});

test('JSON that calls itself a file is translated', async () => {
  const gateway = await startBothWires();
  const body = JSON.stringify(completionBody('m', 'Hi', usageOf(3, 2)));
  gateway.upstream.queue(respond(200, { 'content-type': 'application/octet-stream' }, body));
  const response = await send(gateway, '/v1/messages', MESSAGES);
  expect(response.json()).toMatchObject({ type: 'message', content: [text('Hi')] });
});

test('a translated stream may arrive byte by byte', async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(sse(['Grüße', ' 👋'], { splitAt: 'every-byte', eol: '\r\n', usage: usageOf(3, 2) }));
  const response = await send(gateway, '/v1/messages', { ...MESSAGES, stream: true });
  const texts = readEvents(response.body).map(
    ([, data]) => (data as { delta?: { text?: string } }).delta?.text ?? '',
  );
  expect(texts.join('')).toBe('Grüße 👋');
});

test('an exhausted budget blocks a translated request', async () => {
  const gateway = await startBothWires({ budget: { ...BUDGET, capUsd: 0 } });
  expect((await send(gateway, '/v1/chat/completions', CHAT)).status).toBe(402);
  expect((await send(gateway, '/v1/messages', MESSAGES)).json()).toMatchObject({
    error: { type: 'billing_error' },
  });
  expect(gateway.upstream.requests).toHaveLength(0);
});

test('an answer that is too long to translate is aborted and booked within its hold', async () => {
  const gateway = await startBothWires({ budget: BUDGET });
  const megabyte = Buffer.alloc(1024 * 1024, ' ');
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'application/json' });
    // Until gw closes the connection.
    for (;;) await exchange.chunk(megabyte);
  });
  const answer = await gateway.post({ ...CHAT, max_tokens: 50 });
  expect(answer.status).toBe(502);
  expect(answer.json()).toMatchObject({
    error: { code: 'upstream_failed', message: expect.stringContaining('too long to be translated') },
  });
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ outcome: 'upstream_failed', flags: ['estimated'] });
  expect(record?.costNanoUsd).toBeLessThanOrEqual(record?.holdNanoUsd ?? 0);
});
