import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { json, respond, type Script, status } from '../support/scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { either, events, readEvents } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../wire/support/messages-shapes.ts';
import { provider } from '../wire/support/provider-script.ts';
import { completedEvents, messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { send, sentBody } from '../wire/support/send.ts';

const NOT_FOUND = '404 page not found';

/** A provider with chat completions and Anthropic's messages but without responses. */
const noResponses: Script = async (exchange) => {
  const isResponses = exchange.request.path.startsWith('/v1/responses');
  await (isResponses ? respond(404, { 'content-type': 'text/plain' }, NOT_FOUND) : provider)(exchange);
};

const BODY = { model: 'mock/test-model', input: 'Hi' };
const TOOLS = [
  {
    type: 'function' as const,
    name: 'weather',
    strict: false,
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
];

test.each(['mock/test-model', `anthropic/${CLAUDE}`])(
  'a tool loop with parallel calls over %s, plain and streamed',
  async (model) => {
    const gateway = await startBothWires();
    gateway.upstream.script(noResponses);
    const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
    const body = { model, tools: TOOLS, instructions: 'Be brief' };
    const plain = await client.responses.create({ ...body, input: 'Hi' });
    const streamed = await client.responses.stream({ ...body, input: 'Hi' }).finalResponse();
    for (const { output } of [plain, streamed]) {
      expect(output).toMatchObject([
        { type: 'function_call', name: 'weather', arguments: '{"city":"Bonn"}' },
        { type: 'function_call', name: 'weather', arguments: '{"city":"Ulm"}' },
      ]);
    }
    const results = streamed.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'fine' }]
        : [],
    );
    // The SDK adds `parsed_arguments` to the calls, which the API accepts.
    const calls = streamed.output.map(({ ...item }) => ({ ...item, parsed_arguments: undefined }));
    const input = [
      { role: 'user' as const, content: 'Hi' },
      ...calls,
      ...results,
    ] as OpenAI.Responses.ResponseInput;
    const last = await client.responses.create({ ...body, input });
    expect(last.output_text).toBe('Hello you 👋');
    expect(last.usage).toMatchObject({ input_tokens: 20, output_tokens: 5, total_tokens: 25 });
    const records = await gateway.records();
    expect(records).toHaveLength(3);
    for (const record of records) {
      expect(record).toMatchObject({
        endpoint: 'responses',
        outcome: 'ok',
        inputTokens: 20,
        outputTokens: 5,
      });
    }
  },
);

test('gw detects once that a provider has no responses, within the hold of the request', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 1, period: 'daily' } });
  gateway.upstream.script(noResponses);
  const first = await send(gateway, '/v1/responses', { ...BODY, max_output_tokens: 50 });
  expect(first.json()).toMatchObject({ object: 'response', status: 'completed', model: 'test-model' });
  await send(gateway, '/v1/responses', { ...BODY, stream: true });
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual([
    '/v1/responses',
    '/v1/chat/completions',
    '/v1/chat/completions',
  ]);
  expect(await gateway.records()).toMatchObject([
    { endpoint: 'responses', outcome: 'ok', status: 200, inputTokens: 20, costNanoUsd: 30_000 },
    { endpoint: 'responses', outcome: 'ok', flags: ['stream'] },
  ]);
});

test('the web search that Codex offers is not booked if the provider has none', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 10, period: 'daily' } });
  gateway.upstream.script(noResponses);
  const body = { ...BODY, tools: [...TOOLS, { type: 'web_search' }], max_output_tokens: 50 };
  const headers = { originator: 'codex_exec' };
  for (let i = 0; i < 2; i++)
    expect((await send(gateway, '/v1/responses', body, { headers })).status).toBe(200);
  expect(sentBody(gateway)).toMatchObject({ tools: [{ type: 'function' }], max_tokens: 50 });
  for (const { costNanoUsd, flags } of await gateway.settled(2))
    expect([costNanoUsd, flags]).toEqual([30_000, []]);
});

test('a 404 about the model does not mean that the endpoint is missing', async () => {
  const gateway = await startBothWires();
  const error = {
    message: 'The model `x` does not exist',
    type: 'invalid_request_error',
    code: 'model_not_found',
  };
  gateway.upstream.queue(json(404, { error }), json(200, responseBody([messageItem('Hello')])));
  expect((await send(gateway, '/v1/responses', BODY)).json()).toEqual({ error });
  await send(gateway, '/v1/responses', BODY);
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
});

test('a provider that answered a response has the endpoint, whatever it refuses later', async () => {
  const gateway = await startBothWires();
  const good = json(200, responseBody([messageItem('Hello')]));
  const refusals = [
    { code: 404, body: { error: { message: 'Not found', type: 'x', param: null, code: null } } },
    { code: 405, body: { error: { message: 'No: 405', type: 'x', param: null, code: null } } },
  ];
  gateway.upstream.queue(good, ...refusals.map(({ code, body }) => json(code, body)), good);
  expect((await send(gateway, '/v1/responses', BODY)).status).toBe(200);
  for (const { code, body } of refusals) {
    const response = await send(gateway, '/v1/responses', BODY);
    expect([response.status, response.json()]).toEqual([code, body]);
  }
  expect((await send(gateway, '/v1/responses', BODY)).status).toBe(200);
  const paths = gateway.upstream.requests.map(({ path }) => path);
  expect(paths).toEqual(Array.from({ length: 4 }, () => '/v1/responses'));
});

test('a provider that refuses both endpoints gets the next response request again', async () => {
  const gateway = await startBothWires();
  const error = { message: 'No: 405', type: 'x', param: null, code: null };
  const refuse = json(405, { error }, { 'request-id': 'req_1', 'x-request-id': 'req_1' });
  gateway.upstream.queue(refuse, refuse, json(200, responseBody([messageItem('Hello')])));
  const refused = await send(gateway, '/v1/responses', BODY);
  expect([refused.status, refused.json(), refused.header('x-request-id')]).toEqual([405, { error }, 'req_1']);
  expect((await send(gateway, '/v1/responses', BODY)).status).toBe(200);
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual([
    '/v1/responses',
    '/v1/chat/completions',
    '/v1/responses',
  ]);
});

test("a field that a chat completion can't express is refused and costs nothing", async () => {
  const gateway = await startBothWires({ alone: true });
  gateway.upstream.script(noResponses);
  const request = { ...BODY, previous_response_id: 'resp_1' };
  for (let i = 0; i < 2; i++) {
    const response = await send(gateway, '/v1/responses', request);
    expect(response.status).toBe(400);
    expect(response.json()).toMatchObject({
      error: { param: 'previous_response_id', code: 'unsupported_parameter', type: 'invalid_request_error' },
    });
  }
  expect(gateway.upstream.requests).toHaveLength(2);
  for (const record of await gateway.settled(2)) {
    expect(record).toMatchObject({ status: 400, outcome: 'refused', costNanoUsd: 0 });
  }
});

test('a client can refer to earlier items by id', async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(noResponses);
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const first = await client.responses.create({ ...BODY });
  const reference = { type: 'item_reference' as const, id: String(first.output[0]?.id) };
  await client.responses.create({ ...BODY, input: [{ role: 'user', content: 'Hi' }, reference] });
  expect(sentBody(gateway).messages).toEqual([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Hello you 👋' },
  ]);
});

test("reasoning that Anthropic signed is sent back with the client's next turn", async () => {
  const gateway = await startBothWires();
  const thinking = { type: 'thinking', thinking: 'Let me see', signature: 'c2ln' };
  const content = [thinking, text('Hello')];
  gateway.upstream.script(either(messageBody(content), messageStream(content)));
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key });
  const body = {
    model: `anthropic/${CLAUDE}`,
    include: ['reasoning.encrypted_content' as const],
    store: false,
  };
  const plain = await client.responses.create({ ...body, input: 'Hi' });
  const streamed = await client.responses.stream({ ...body, input: 'Hi' }).finalResponse();
  for (const { output } of [plain, streamed]) {
    expect(output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Let me see' }] },
      { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
    ]);
    const again = [
      { role: 'user' as const, content: 'Hi' },
      ...output,
      { role: 'user' as const, content: 'And?' },
    ];
    await client.responses.create({ ...body, input: again as OpenAI.Responses.ResponseInput });
    expect(sentBody(gateway).messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [thinking, text('Hello')] },
      { role: 'user' },
    ]);
  }
});

test("errors have OpenAI's format, before and within a stream; a broken stream gets no end", async () => {
  const gateway = await startBothWires();
  gateway.upstream.script(noResponses);
  await send(gateway, '/v1/responses', BODY);
  const chunk = { choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] };
  const error = { error: { message: 'Overloaded', type: 'server_error' } };
  gateway.upstream.queue(
    status(429, { retryAfter: '3' }),
    events([
      ['', chunk],
      ['', error],
    ]),
    events([['', chunk]], { end: 'reset' }),
  );
  const refused = await send(gateway, '/v1/responses', BODY);
  expect([refused.status, refused.header('retry-after')]).toEqual([429, '3']);
  const failed = readEvents((await send(gateway, '/v1/responses', { ...BODY, stream: true })).body);
  expect(failed.at(-1)).toMatchObject([
    'response.failed',
    { response: { error: { message: 'Overloaded' } } },
  ]);
  const broken = await send(gateway, '/v1/responses', { ...BODY, stream: true });
  expect(broken.complete).toBe(false);
  const types = readEvents(broken.body).map(([type]) => type);
  expect(types.slice(-2)).toEqual(['response.output_text.delta', 'error']);
  const outcomes = (await gateway.settled(4)).map(({ outcome }) => outcome);
  expect(outcomes).toEqual(['ok', 'upstream_error', 'upstream_error', 'upstream_failed']);
});

test('an exhausted budget blocks the request', async () => {
  const gateway = await startBothWires({ budget: { capUsd: 0, period: 'daily' } });
  const model = `anthropic/${CLAUDE}`;
  expect((await send(gateway, '/v1/responses', { ...BODY, model })).status).toBe(402);
  expect(gateway.upstream.requests).toEqual([]);
});

test('a provider with responses receives them unchanged', async () => {
  const gateway = await startBothWires({ alone: true });
  gateway.upstream.script(either(responseBody([messageItem('Hello')]), completedEvents(['Hello'])));
  await send(gateway, '/v1/responses', { ...BODY, previous_response_id: 'resp_1' });
  expect(gateway.upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses']);
});
