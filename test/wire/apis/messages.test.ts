import { expect, test } from 'vitest';
import { openConnection, requestBytes } from '../../support/client.ts';
import { json, status } from '../../support/scripts.ts';
import { CLAUDE, startBothWires } from '../support/anthropic-gateway.ts';
import { events, eventText, readEvents } from '../support/event-scripts.ts';
import {
  anthropicError,
  messageBody,
  messageStream,
  messageUsage,
  text,
  toolUse,
} from '../support/messages-shapes.ts';
import { send, sentBody, sentHeader } from '../support/send.ts';

const BODY = { model: CLAUDE, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const STREAM = { ...BODY, stream: true };

test('a plain message passes unchanged in both directions and is booked at its price', async () => {
  const gateway = await startBothWires();
  const body = messageBody([text('Hello')], {
    usage: messageUsage(1000, 100),
    context_management: { applied_edits: [] },
  });
  gateway.upstream.queue(json(200, body, { 'request-id': 'req_1' }));
  const raw = `{"model":"${CLAUDE}",  "max_tokens":100,"messages":[{"role":"user","content":"Hi"}],"future":{"a":1.0}}`;
  const response = await send(gateway, '/v1/messages?beta=true', raw, {
    headers: { 'anthropic-beta': 'context-management-2025-06-27,oauth', 'anthropic-version': '2099-01-01' },
  });
  expect(response.json()).toEqual(body);
  expect(response.header('request-id')).toBe('req_1');
  const [sent] = gateway.upstream.requests;
  expect(sent?.body.toString()).toBe(raw);
  expect(sent?.path).toBe('/v1/messages?beta=true');
  expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
  expect(sentHeader(gateway, 'authorization')).toBeUndefined();
  expect(sentHeader(gateway, 'anthropic-version')).toBe('2099-01-01');
  expect(sentHeader(gateway, 'anthropic-beta')).toBe('context-management-2025-06-27,oauth');
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    endpoint: 'messages',
    provider: 'anthropic',
    model: CLAUDE,
    costNanoUsd: 4_500_000,
  });
});

test.each(['/messages', '/v1/messages', '/v1/v1/messages'])('POST %s reaches the endpoint', async (path) => {
  const gateway = await startBothWires();
  gateway.upstream.script(json(200, messageBody([text('Hello')])));
  const response = await send(gateway, path, BODY, { path });
  expect(response.status).toBe(200);
});

test('x-api-key authenticates like a bearer token on every endpoint and is not sent upstream', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(json(200, messageBody([text('Hello')])));
  const headers = { authorization: 'Bearer sk-ant-oat-someone', 'x-api-key': gateway.key };
  expect((await send(gateway, '/v1/messages', BODY, { headers })).status).toBe(200);
  expect(sentHeader(gateway, 'x-api-key')).toBe('sk-ant-provider');
  expect(sentHeader(gateway, 'anthropic-version')).toBe('2023-06-01');
  expect((await gateway.get('/v1/usage', { authorization: '', 'x-api-key': gateway.key })).status).toBe(200);
  expect((await gateway.get('/v1/usage', { authorization: '', 'x-api-key': 'sk-gw-wrong' })).status).toBe(
    401,
  );
});

test('a stream passes byte for byte, its two usage events are merged, and it is recorded before it ends', async () => {
  const gateway = await startBothWires();
  const cache_creation = { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 };
  const list = messageStream(
    [{ type: 'thinking', thinking: 'Let me see', signature: 'c2ln' }, text('Hello you there')],
    {
      startUsage: messageUsage(10, 1, {
        cache_creation_input_tokens: 500,
        cache_read_input_tokens: 1000,
        cache_creation,
      }),
      endUsage: { output_tokens: 50, cache_read_input_tokens: null },
    },
  );
  gateway.upstream.queue(events(list));
  const response = await send(gateway, '/v1/messages', STREAM);
  expect(response.text()).toBe(list.map(eventText).join(''));
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    inputTokens: 1510,
    cachedInputTokens: 1000,
    cacheWriteTokens: 500,
    outputTokens: 50,
    flags: ['stream'],
    outcome: 'ok',
  });
  // $3 and $15 per million; cache reads cost a tenth, cache writes 1.25 times (5 minutes) or twice (1 hour) as much.
  expect(record?.costNanoUsd).toBe(10 * 3000 + 1000 * 300 + 300 * 3750 + 200 * 6000 + 50 * 15_000);
});

test('the hold covers max_tokens, and a provider error costs nothing', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 1, period: 'daily' } });
  gateway.upstream.queue(
    json(529, anthropicError('overloaded_error', 'Overloaded'), { 'x-should-retry': 'true' }),
  );
  const response = await send(gateway, '/v1/messages', { ...BODY, max_tokens: 1000 });
  expect(response.status).toBe(529);
  expect(response.json()).toEqual(anthropicError('overloaded_error', 'Overloaded'));
  expect(response.header('x-should-retry')).toBe('true');
  const [record] = await gateway.records();
  expect(record).toMatchObject({ outcome: 'upstream_error', costNanoUsd: 0 });
  expect(record?.holdNanoUsd).toBeGreaterThanOrEqual(15_000_000);
  // The account may default to inference in one country, which costs a tenth more; no answer has shown yet.
  expect(record?.holdNanoUsd).toBeLessThan(1.1 * 16_500_000);
});

test('the hold covers the price of an image, not its bytes', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 0.1, period: 'daily' } });
  gateway.upstream.queue(json(200, messageBody([text('A cat')])));
  const source = { type: 'base64', media_type: 'image/png', data: 'iVBO'.repeat(50_000) };
  const content = [{ type: 'image', source }, text('What is it?')];
  const response = await send(gateway, '/v1/messages', { ...BODY, messages: [{ role: 'user', content }] });
  expect(response.status).toBe(200);
  expect((await gateway.records())[0]?.holdNanoUsd).toBeGreaterThan(12_000 * 3000);
});

test("an exhausted budget is reported in Anthropic's format, as an error that clients don't retry", async () => {
  const gateway = await startBothWires({ budget: { capUsd: 0, period: 'daily' } });
  for (const body of [BODY, STREAM]) {
    const response = await send(gateway, '/v1/messages', body);
    expect(response.status).toBe(402);
    expect(response.header('x-should-retry')).toBe('false');
    expect(response.header('retry-after')).toBeUndefined();
    expect(response.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'billing_error',
        message: expect.stringContaining('gw budget set'),
        code: 'budget_exceeded',
      },
      request_id: expect.stringMatching(/^req_/),
    });
  }
  expect(gateway.upstream.requests).toHaveLength(0);
});

test("gw's own errors have Anthropic's format", async () => {
  const gateway = await startBothWires();
  const cases = [
    [
      await send(gateway, '/v1/messages', BODY, { headers: { authorization: 'Bearer no' } }),
      401,
      'authentication_error',
    ],
    [await send(gateway, '/v1/messages', { ...BODY, model: 'nobody-has-this' }), 404, 'not_found_error'],
    [await send(gateway, '/v1/messages', { ...BODY, messages: [] }), 400, 'invalid_request_error'],
    [await send(gateway, '/v1/messages', '{', {}), 400, 'invalid_request_error'],
    [await send(gateway, '/messages', undefined, { method: 'GET' }), 405, 'invalid_request_error'],
  ] as const;
  for (const [response, code, type] of cases) {
    expect(response.status).toBe(code);
    expect(response.json()).toMatchObject({ type: 'error', error: { type } });
  }
});

test('an error within a stream is passed on and recorded; a broken stream stays broken', async () => {
  const gateway = await startBothWires();
  const start = messageStream([text('Hello you')]).slice(0, 5);
  gateway.upstream.queue(
    events([...start, ['error', anthropicError('overloaded_error', 'Overloaded')]]),
    events(start, { end: 'reset' }),
  );
  expect((await send(gateway, '/v1/messages', STREAM)).text()).toContain('overloaded_error');
  const broken = await send(gateway, '/v1/messages', STREAM);
  expect(broken.complete).toBe(false);
  expect(broken.text()).not.toContain('message_stop');
  const [first, second] = await gateway.settled(2);
  expect(first).toMatchObject({
    outcome: 'upstream_error',
    detail: { error: 'Overloaded' },
    inputTokens: 20,
  });
  expect(second).toMatchObject({ outcome: 'upstream_failed' });
});

test('a stream that exceeds max_tokens is ended at the limit, with its block and message closed', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 1, period: 'daily' } });
  const words = Array.from({ length: 3000 }, (_, i) => `word${i}`).join(' ');
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (const event of messageStream([text(words)]).slice(0, -3)) await exchange.chunk(eventText(event));
    await exchange.untilGone();
  });
  const response = await send(gateway, '/v1/messages', { ...STREAM, max_tokens: 50 });
  expect(readEvents(response.body).slice(-3)).toEqual([
    ['content_block_stop', { type: 'content_block_stop', index: 0 }],
    ['message_delta', expect.objectContaining({ delta: { stop_reason: 'max_tokens', stop_sequence: null } })],
    ['message_stop', { type: 'message_stop' }],
  ]);
  expect((await gateway.settled(1))[0]).toMatchObject({ outcome: 'capped' });
});

test('the upstream call is closed at once when a client disconnects', async () => {
  const gateway = await startBothWires();
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (const event of messageStream([text('Hello you')]).slice(0, 4))
      await exchange.chunk(eventText(event));
    await exchange.untilGone();
  });
  const connection = await openConnection(gateway.url);
  const headers = { 'x-api-key': gateway.key };
  await connection.send(requestBytes(`${gateway.url}/messages`, { headers, body: STREAM }));
  await connection.bodyUntil('text_delta');
  const leftAt = performance.now();
  connection.hangUp();
  const upstream = await gateway.upstream.nextRequest();
  await upstream.done;
  expect((upstream.hungUp?.monotonicMs ?? Infinity) - leftAt).toBeLessThan(10_000);
  expect((await gateway.settled(1))[0]).toMatchObject({ outcome: 'client_gone' });
});

test('tools, tool results and all kinds of system messages pass unchanged', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(json(200, messageBody([toolUse('toolu_1', 'f', {})], { stop_reason: 'tool_use' })));
  const body = {
    ...BODY,
    system: [{ ...text('Be brief'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
    tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [toolUse('toolu_1', 'f', {}), toolUse('toolu_2', 'f', { a: 1 })] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x', is_error: true }],
      },
      { role: 'system', content: 'A reminder' },
    ],
    thinking: { type: 'enabled', budget_tokens: 50 },
  };
  await send(gateway, '/v1/messages', body);
  expect(sentBody(gateway)).toEqual(body);
});

test('/v1 is added to a base URL without a version', async () => {
  const gateway = await startBothWires();
  gateway.configure({
    providers: { anthropic: { baseUrl: gateway.upstream.url.replace('/v1', '/anthropic') } },
  });
  gateway.upstream.script(status(404));
  await send(gateway, '/v1/messages', BODY);
  expect(gateway.upstream.requests[0]?.path).toBe('/anthropic/v1/messages');
});
