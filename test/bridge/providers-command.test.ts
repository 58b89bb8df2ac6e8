import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DIALECT_ENTRIES } from '../../src/config/provider-settings.ts';
import { PRESETS } from '../../src/providers/presets.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
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

test('gw doctor lists what was learnt', async () => {
  const { gateway, cli } = await start(async (exchange) => {
    const body = JSON.parse(String(await exchange.body));
    if (body.stream_options) return json(422, { error: { message: 'stream_options: extra' } })(exchange);
    return streamed(exchange);
  });
  await gateway.post({ model: 'mock/cheap', messages: [{ role: 'user', content: 'Hi' }], stream: true });
  await gateway.settled(1);
  await gateway.committed();
  const { stdout } = await cli.run(['doctor', '--quick']);
  expect(stdout).toContain('mock/cheap refuses stream_options, which gw remembers for a day');
});

const sentTo = ({ upstream }: TestGateway) => JSON.parse(String(upstream.requests.at(-1)?.body));

describe('a dialect of the user', () => {
  const calls = [{ id: 'functions.f:0', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const body = {
    model: 'mock/cheap',
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'functions.f:0', content: 'x' },
    ],
  };
  const set = (cli: Awaited<ReturnType<typeof start>>['cli'], entry: string, value: string) =>
    cli.run(['config', 'set', `providers.mock.dialect.${entry}`, value]);

  test('applies from the next request on, and is shown', async () => {
    const { gateway, cli } = await start(provider());
    expect((await set(cli, 'toolIds', '9')).code).toBe(0);
    expect((await set(cli, 'systemFirst', 'on')).code).toBe(0);
    expect((await set(cli, 'refuses', 'user,service_tier')).code).toBe(0);
    expect((await gateway.post(body)).status).toBe(200);
    const sent = sentTo(gateway);
    expect(sent.messages[2].tool_call_id).toMatch(/^[a-f0-9]{9}$/);
    expect(sent.messages[1].tool_calls[0].id).toBe(sent.messages[2].tool_call_id);
    const dialect = { toolIds: 9, systemFirst: true, refuses: ['user', 'service_tier'], reasoning: 'kept' };
    expect(await cli.json(['providers', 'show', 'mock'])).toMatchObject({ dialect, dialect_of: null });
    expect((await cli.run(['config', 'get', 'providers.mock.dialect.toolIds'])).stdout).toBe('9\n');
    expect((await cli.run(['config', 'unset', 'providers.mock.dialect.toolIds'])).code).toBe(0);
    await gateway.post(body);
    const next = sentTo(gateway);
    expect(next.messages[2].tool_call_id).toBe('functions.f:0');
  });

  test.each([
    ['toolIds', 'nine', 2, '"nine" is not a whole number from 1 to 64'],
    ['reasoning', 'always', 2, 'is not one of: required, kept'],
    ['systemFirst', '1', 2, 'is not one of: on, off'],
    ['callIds', '9', 5, 'entries of a dialect are reasoning, details'],
  ])('%s %s is refused', async (entry, value, code, message) => {
    const { cli } = await start(provider());
    expect(await set(cli, entry, value)).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });

  test('a wrong entry in the file is told with its place, and changes nothing', async () => {
    const { gateway, cli } = await start(provider());
    const dialect = { toolIds: 'x', unknown: 1, maxStops: 2 } as object;
    const mock = { baseUrl: gateway.upstream.url, dialect };
    gateway.configure({ providers: { mock } });
    expect(await cli.json(['providers', 'show', 'mock'])).toMatchObject({ dialect: { maxStops: 2 } });
    const { stdout } = await cli.run(['doctor', '--quick', '--json']);
    expect(stdout).toContain('providers.mock.dialect.toolIds: \\"x\\" is not a whole number from 1 to 64');
    expect(stdout).toContain('providers.mock.dialect.unknown');
  });
});

test.each([
  ['https://api.deepseek.com', 'deepseek'],
  ['https://open.bigmodel.cn/api/paas/v4', 'zai'],
  ['https://me.openai.azure.com/openai/v1', 'azure'],
  ['https://api.githubcopilot.com', 'copilot'],
  ['https://api.deepseek.com.example.org/v1', null],
])('a provider at %s is known as %s, whatever its name', async (baseUrl, known) => {
  const { gateway, cli } = await start(provider());
  gateway.configure({ providers: { work: { baseUrl } } });
  expect(await cli.json(['providers', 'show', 'work'])).toMatchObject({ dialect_of: known });
});

describe('gw providers test finds a wrong base URL', () => {
  const list = json(200, { data: [{ id: 'cheap' }] });
  test.each([
    ['without the version', '', 404],
    ['below the version', '/v1/chat', 404],
    ['of the web site', '/docs', 200],
  ])('%s', async (_, path, status) => {
    const { gateway, cli } = await start(provider());
    const { origin } = new URL(gateway.upstream.url);
    gateway.upstream.models(async (exchange) =>
      exchange.request.path.startsWith('/v1/models') ? list(exchange) : json(status, 'a page')(exchange),
    );
    gateway.configure({ providers: { mock: { baseUrl: `${origin}${path}` } } });
    const { code, stdout } = await cli.run(['providers', 'test', 'mock']);
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining(`gw providers add mock --base-url ${origin}/v1`),
    });
  });
});

test('docs/providers.md tells the key of every provider, and every entry of a dialect', () => {
  const docs = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
  const rows = docs.match(/^\| .*\|$/gm) ?? [];
  for (const [name, { keyEnv }] of Object.entries(PRESETS)) {
    const row = rows.find((each) => new RegExp(`^\\| (?:[^|]*, )?${name}\\b.*(?:\`|none)`).test(each));
    expect({ name, row }).toEqual({ name, row: expect.any(String) });
    for (const variable of keyEnv) expect(row).toContain(variable);
  }
  for (const entry of DIALECT_ENTRIES)
    expect(rows.some((row) => row.startsWith(`| \`${entry}\` |`))).toBe(true);
});

describe('a provider that is billed at the prices of another', () => {
  test('by --prices-of: under a budget, with the limits of its models', async () => {
    const { gateway, cli } = await start(provider());
    const added = await cli.run([
      'providers',
      'add',
      'work',
      '--base-url',
      gateway.upstream.url,
      '--prices-of',
      'openai',
    ]);
    expect(added.code).toBe(0);
    await gateway.setBudget({ period: 'daily', capUsd: 1 });
    const body = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 50 };
    expect((await gateway.post({ ...body, model: 'mock/gpt-4o-mini' })).status).toBe(402);
    expect((await gateway.post({ ...body, model: 'work/gpt-4o-mini' })).status).toBe(200);
    expect((await gateway.settled(2)).at(-1)).toMatchObject({
      provider: 'work',
      costNanoUsd: 210_000,
    });
    expect(await cli.json(['providers', 'show', 'work'])).toMatchObject({ prices_of: 'openai' });
    await gateway.setPrice({ provider: 'work', model: 'gpt-4o-mini', inputPicoUsd: 1e6, outputPicoUsd: 0 });
    await gateway.post({ ...body, model: 'work/gpt-4o-mini' });
    expect((await gateway.settled(3)).at(-1)).toMatchObject({ costNanoUsd: 1_000_000 });
  });

  test('by its address', async () => {
    const { gateway, cli } = await start(provider());
    gateway.configure({
      providers: {
        work: { baseUrl: 'https://api.deepseek.com' },
        openai: { baseUrl: 'https://api.deepseek.com' },
        cn: { baseUrl: 'https://api.moonshot.cn/v1' },
      },
    });
    expect(await cli.json(['providers', 'show', 'work'])).toMatchObject({ prices_of: 'deepseek' });
    expect(await cli.json(['providers', 'show', 'openai'])).toMatchObject({ prices_of: 'openai' });
    // Another host may have other prices.
    expect(await cli.json(['providers', 'show', 'cn'])).toMatchObject({ prices_of: null });
  });

  test('which gw has to know', async () => {
    const { gateway, cli } = await start(provider());
    const words = ['providers', 'add', 'work', '--base-url', gateway.upstream.url, '--prices-of', 'nobody'];
    expect(await cli.run(words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('gw knows no prices of "nobody"'),
    });
  });
});
