import { expect, test } from 'vitest';
import { commandLineOf } from '../cli/cli-home.ts';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { startGateway } from '../support/gateway.ts';
import { json, modelList, type Script } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const answer = completionBody('cheap', 'OK', usageOf(1_000, 100));
const tool_calls = [{ id: 'a', type: 'function', function: { name: 'get_time', arguments: '{}' } }];
const call = completionBody('cheap', '', usageOf(10, 2), {
  message: { role: 'assistant', content: null, tool_calls },
});
const streamed = sse([chunkBody('cheap', { delta: { content: 'OK' }, finish_reason: 'stop' }), '[DONE]']);

/** A provider with two models and an embedding, of which one can be asked. */
const provider =
  (refusal?: { status: number; message: string }): Script =>
  async (exchange) => {
    const body = JSON.parse(String(await exchange.body));
    if (refusal) return json(refusal.status, { error: { message: refusal.message } })(exchange);
    if (body.stream) return streamed(exchange);
    return json(200, body.tools ? call : answer)(exchange);
  };

async function start(script: Script) {
  const gateway = await startGateway({ alone: true });
  gateway.upstream.models(modelList(['dear', 'cheap', 'cheap-embedding']));
  gateway.upstream.script(script);
  for (const [model, price] of Object.entries({ dear: 10e6, cheap: 1e6, 'cheap-embedding': 0.1e6 }))
    await gateway.setPrice({ provider: 'mock', model, inputPicoUsd: price, outputPicoUsd: price });
  const clock = createVirtualClock(Date.now());
  return { gateway, cli: commandLineOf(gateway, 'locally', clock) };
}

test('gw providers test NAME sends the smallest real request by the cheapest model, and says what it cost', async () => {
  const { gateway, cli } = await start(provider());
  const { code, stdout } = await cli.run(['providers', 'test', 'mock']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/answer of cheap by chat: answered, \$0\.0011/),
  });
  expect(await gateway.settled(1)).toMatchObject([{ model: 'cheap', costNanoUsd: 1_100_000 }]);

  const [result] = await cli.json<{ requests: object[] }[]>([
    'providers',
    'test',
    'mock',
    '--model',
    'dear',
    '--full',
  ]);
  expect(result?.requests).toMatchObject([
    { what: 'answer', ok: true, model: 'dear', api: 'chat', cost_usd: 0.011 },
    { what: 'tool call', ok: true },
    { what: 'stream', ok: true },
  ]);
});

test.each([
  [404, 'The model `cheap` does not exist'],
  [403, 'This key has no access'],
  [400, 'Unrecognized request argument: max_tokens'],
])('a refusal with %d is told, and is a failure', async (status, message) => {
  const { cli } = await start(provider({ status, message }));
  const { code, stdout } = await cli.run(['providers', 'test', 'mock']);
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`${message} (HTTP ${status})`),
  });
});

test('gw providers show tells the dialect, and what was learnt', async () => {
  const { gateway, cli } = await start(async (exchange) => {
    const body = JSON.parse(String(await exchange.body));
    if (body.stream_options) return json(422, { error: { message: 'stream_options: extra' } })(exchange);
    return streamed(exchange);
  });
  const body = { model: 'mock/cheap', messages: [{ role: 'user', content: 'Hi' }], stream: true };
  expect((await gateway.post(body)).status).toBe(200);
  await gateway.settled(1);
  await gateway.committed();
  expect(await cli.json(['providers', 'show', 'mock'])).toMatchObject({
    name: 'mock',
    kind: 'openai',
    base_url: gateway.upstream.url,
    apis: ['chat', 'responses'],
    dialect: { reasoning: 'kept' },
    learnt: [{ model: 'cheap', field: 'stream_options', until: expect.any(String) }],
  });
  const { stdout } = await cli.run(['providers', 'show', 'mock']);
  expect(stdout).toContain('cheap refuses stream_options');
  expect((await cli.run(['providers', 'show', 'nobody'])).code).toBe(5);
  gateway.configure({ providers: { mistral: { baseUrl: gateway.upstream.url } } });
  expect(await cli.json(['providers', 'show', 'mistral'])).toMatchObject({ apis: ['chat'] });
});
