import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { openConnection, requestBytes } from '../../support/client.ts';
import { startGateway } from '../../support/gateway.ts';
import { json } from '../../support/scripts.ts';
import { either, events, eventText, readEvents } from '../support/event-scripts.ts';
import {
  callItem,
  completedEvents,
  lastEvent,
  messageItem,
  responseBody,
  responseEvents,
  responseUsage,
} from '../support/responses-shapes.ts';
import { send, sentBody } from '../support/send.ts';

const MODEL = 'mock/test-model';

test('the SDK receives a plain response, and its usage is booked', async () => {
  const gateway = await startGateway();
  const usage = responseUsage(100, 50, 40, 30);
  gateway.upstream.queue(json(200, responseBody([messageItem('Hello')], { usage, a_new_field: 1 })));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const response = await client.responses.create({ model: MODEL, input: 'Hi', instructions: 'Be brief' });
  expect(response.output_text).toBe('Hello');
  expect(sentBody(gateway)).toEqual({ model: 'test-model', input: 'Hi', instructions: 'Be brief' });
  const [record] = await gateway.records();
  expect(record).toMatchObject({
    endpoint: 'responses',
    inputTokens: 100,
    cachedInputTokens: 40,
    outputTokens: 50,
    reasoningTokens: 30,
    costNanoUsd: 200_000,
    flags: [],
  });
});

test('a stream passes byte for byte and is recorded before its last event is sent', async () => {
  const gateway = await startGateway();
  const list = completedEvents(['Hel', 'lo']);
  gateway.upstream.queue(events(list));
  const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', stream: true });
  expect(response.text()).toBe(list.map(eventText).join(''));
  const [record] = await gateway.records();
  expect(record).toMatchObject({ outcome: 'ok', inputTokens: 20, outputTokens: 5, flags: ['stream'] });
});

test('the SDK streams and receives the complete response at the end', async () => {
  const gateway = await startGateway();
  gateway.upstream.script(either(responseBody([messageItem('Hello')]), completedEvents(['Hel', 'lo'])));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const stream = client.responses.stream({ model: MODEL, input: 'Hi' });
  const deltas: string[] = [];
  stream.on('response.output_text.delta', ({ delta }) => void deltas.push(delta));
  const final = await stream.finalResponse();
  expect(deltas).toEqual(['Hel', 'lo']);
  expect(final.output_text).toBe('Hello');
  expect(final.usage?.total_tokens).toBe(25);
});

test.each(['response.incomplete', 'response.failed'])(
  '%s closes a stream and reports its usage',
  async (type) => {
    const gateway = await startGateway();
    const error = type === 'response.failed' ? { code: 'server_error', message: 'It broke.' } : null;
    const status = type.slice('response.'.length);
    gateway.upstream.queue(
      events(responseEvents(['Hel'], lastEvent(type, responseBody([], { status, error }))), {
        together: true,
      }),
    );
    const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', stream: true });
    expect(readEvents(response.body).at(-1)?.[0]).toBe(type);
    const [record] = await gateway.records();
    expect(record).toMatchObject({ inputTokens: 20, outputTokens: 5 });
    expect(record?.outcome).toBe(error ? 'upstream_error' : 'ok');
  },
);

test('a broken stream stays broken, and its usage is estimated from what arrived', async () => {
  const gateway = await startGateway();
  const list = responseEvents(['Hello there'], ['', '']).slice(0, 5);
  gateway.upstream.queue(events(list, { end: 'reset' }));
  const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', stream: true });
  expect(response.complete).toBe(false);
  expect(response.text()).not.toContain('response.completed');
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ outcome: 'upstream_failed' });
  expect(record?.flags).toContain('estimated');
  expect(record?.outputTokens).toBeGreaterThan(0);
});

test('an error event is passed on and recorded', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(
    events([['error', { type: 'error', code: 'server_error', message: 'Overloaded', param: null }]]),
  );
  const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', stream: true });
  expect(response.text()).toContain('Overloaded');
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ outcome: 'upstream_error', detail: { error: 'Overloaded' } });
});

test('usage is read from a closing event of several megabytes', async () => {
  const gateway = await startGateway();
  const image = {
    type: 'image_generation_call',
    id: 'ig_1',
    status: 'completed',
    result: 'A'.repeat(3_000_000),
  };
  gateway.upstream.queue(events([lastEvent('response.completed', responseBody([image]))]));
  const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', stream: true });
  expect(response.body.length).toBeGreaterThan(3_000_000);
  expect((await gateway.records())[0]).toMatchObject({ inputTokens: 20, outputTokens: 5, flags: ['stream'] });
});

test('two turns of parallel tool calls from the SDK pass unchanged', async () => {
  const gateway = await startGateway();
  const calls = [
    callItem('call_1', 'weather', '{"city":"Bonn"}'),
    callItem('call_2', 'weather', '{"city":"Ulm"}'),
  ];
  gateway.upstream.queue(json(200, responseBody(calls)), json(200, responseBody([messageItem('Both fine')])));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const tools = [
    { type: 'function' as const, name: 'weather', strict: false, parameters: { type: 'object' } },
  ];
  const first = await client.responses.create({ model: MODEL, input: 'Weather?', tools });
  const outputs = first.output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'fine' }]
      : [],
  );
  const input = [{ role: 'user' as const, content: 'Weather?' }, ...(first.output as []), ...outputs];
  const second = await client.responses.create({ model: MODEL, input, tools });
  expect(second.output_text).toBe('Both fine');
  expect(sentBody(gateway).input).toEqual(input);
});

test('background responses are refused with param "background", as their cost could not be booked', async () => {
  const gateway = await startGateway();
  const response = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', background: true });
  expect(response.status).toBe(400);
  expect(response.json()).toMatchObject({ error: { param: 'background', code: 'unsupported_value' } });
  expect(gateway.upstream.requests).toHaveLength(0);
  const [record] = await gateway.records();
  expect(record).toMatchObject({ outcome: 'refused', status: 400, askedModel: MODEL, costNanoUsd: 0 });
});

test('max_output_tokens bounds the hold; where it is missing, gw writes the limit that the budget allows', async () => {
  const gateway = await startGateway({ budget: { capUsd: 0.01, period: 'daily' } });
  gateway.upstream.script(json(200, responseBody([messageItem('Hello')])));
  await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi', max_output_tokens: 1000 });
  await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi' });
  const [limited, unlimited] = await gateway.records();
  expect(limited?.holdNanoUsd).toBeGreaterThanOrEqual(2_000_000);
  expect(limited?.holdNanoUsd).toBeLessThan(2_300_000);
  const limit = Number(sentBody(gateway).max_output_tokens);
  expect(limit * 2000).toBeLessThanOrEqual(unlimited?.holdNanoUsd ?? 0);
  expect(limit).toBeGreaterThan(4000);
});

test("the hold for an earlier response covers the model's whole context", async () => {
  const gateway = await startGateway({ alone: true, budget: { capUsd: 10, period: 'daily' } });
  gateway.upstream.script(json(200, responseBody([messageItem('Hello')])));
  const body = { model: MODEL, input: 'Hi', max_output_tokens: 16 };
  await send(gateway, '/v1/responses', { ...body, previous_response_id: 'resp_0' });
  await send(gateway, '/v1/responses', { ...body, previous_response_id: null });
  const [stored, alone] = await gateway.records();
  expect(stored?.holdNanoUsd).toBeGreaterThan(1_000_000_000);
  expect(alone?.holdNanoUsd).toBeLessThan(1_000_000);
});

test.each<object>([
  { id: 'msg_1' },
  { type: null, id: 'msg_1' },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a', file_id: 'file_1' }] },
  { type: 'novelty', id: 'n_1' },
])('an input item of an unknown shape is refused under a small budget, with the reason: %j', async (item) => {
  const gateway = await startGateway({ alone: true, budget: { capUsd: 0.01, period: 'daily' } });
  const body = { model: MODEL, input: [{ role: 'user', content: 'Hi' }, item], max_output_tokens: 16 };
  const { status, body: answer } = await send(gateway, '/v1/responses', body);
  expect(status).toBe(402);
  expect(JSON.parse(String(answer)).error.message).toMatch(/gw can't tell the size of .+ from the request/);
  expect(gateway.upstream.requests).toHaveLength(0);
});

test('a client disconnect closes the upstream call at once, and what arrived is booked', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (const event of responseEvents(['Hello'], ['', '']).slice(0, 5))
      await exchange.chunk(eventText(event));
    await exchange.untilGone();
  });
  const connection = await openConnection(gateway.url);
  await connection.send(
    requestBytes(`${gateway.url}/responses`, {
      headers: { authorization: `Bearer ${gateway.key}` },
      body: { model: MODEL, input: 'Hi', stream: true },
    }),
  );
  await connection.bodyUntil('output_text.delta');
  const leftAt = performance.now();
  connection.hangUp();
  const upstream = await gateway.upstream.nextRequest();
  await upstream.done;
  expect((upstream.hungUp?.monotonicMs ?? Infinity) - leftAt).toBeLessThan(10_000);
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ outcome: 'client_gone' });
  expect(record?.outputTokens).toBeGreaterThan(0);
});

test('Codex is told of an exhausted budget in a format that it displays', async () => {
  const gateway = await startGateway({ budget: { capUsd: 0, period: 'daily' } });
  const body = { model: MODEL, input: 'Hi', stream: true };
  const blocked = await send(gateway, '/v1/responses', body, { headers: { originator: 'codex_cli_rs' } });
  expect(blocked.status).toBe(429);
  expect(blocked.header('x-codex-promo-message')).toContain('gw budget set');
  expect(blocked.json()).toMatchObject({ error: { type: 'usage_limit_reached' } });
  expect((await send(gateway, '/v1/responses', body)).status).toBe(402);
  expect((await gateway.records()).map(({ status }) => status)).toEqual([429, 402]);
});

test('Codex is told of an unknown price in the same format', async () => {
  const gateway = await startGateway({ price: null, budget: { capUsd: 1, period: 'daily' } });
  const headers = { originator: 'codex_exec' };
  const blocked = await send(gateway, '/v1/responses', { model: MODEL, input: 'Hi' }, { headers });
  expect(blocked.status).toBe(429);
  expect(blocked.header('x-codex-promo-message')).toContain('gw prices set');
  expect(blocked.json()).toMatchObject({ error: { type: 'usage_limit_reached', code: 'price_unknown' } });
  expect((await gateway.records()).map(({ status }) => status)).toEqual([429]);
});

test('texts of input items are compressed; all other items pass unchanged', async () => {
  const gateway = await startGateway();
  gateway.upstream.script(json(200, responseBody([messageItem('Hello')])));
  const rows = Array.from({ length: 200 }, (_, id) => ({
    id,
    name: `row ${id}`,
    status: 'active',
    region: 'eu',
  }));
  const content = `Which row is odd?\n\n${JSON.stringify(rows, null, 2)}`;
  const items = [
    callItem('call_1', 'f', '{"a": 1}'),
    { type: 'reasoning', id: 'rs_1', encrypted_content: 'x'.repeat(2000) },
  ];
  const input = [{ role: 'user', content }, ...items];
  await send(gateway, '/v1/responses', { model: MODEL, input, service: { optimize: 'safe' } });
  const [first, ...rest] = sentBody(gateway).input as { content: string }[];
  expect(first?.content.length).toBeLessThan(content.length / 2);
  expect(rest).toEqual(items);
  expect((await gateway.records())[0]?.savedTokens).toBeGreaterThan(500);
});

test('a conversation is compacted under a budget, and no limit is written into the request', async () => {
  const gateway = await startGateway({ budget: { capUsd: 1, period: 'daily' } });
  const output = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'x' }];
  gateway.upstream.queue(
    json(200, { id: 'resp_1', object: 'response.compaction', output, usage: responseUsage(50, 10) }),
  );
  const body = { model: MODEL, input: [{ role: 'user', content: 'Hi' }] };
  const response = await send(gateway, '/v1/responses/compact', body);
  expect(response.json()).toMatchObject({ output });
  expect(gateway.upstream.requests[0]?.path).toBe('/v1/responses/compact');
  expect(sentBody(gateway)).toEqual({ ...body, model: 'test-model' });
  expect((await gateway.records())[0]).toMatchObject({ endpoint: 'responses/compact', costNanoUsd: 70_000 });
});
