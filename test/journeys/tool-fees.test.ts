import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { NANO_PER_USD } from '../../src/money.ts';
import { type GatewayOptions, PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, reset, respond } from '../support/scripts.ts';
import { events } from '../wire/support/event-scripts.ts';
import { completedEvents, messageItem, responseBody } from '../wire/support/responses-shapes.ts';
import { sentBody } from '../wire/support/send.ts';

/** Tokens cost a dollar per million, so that the fees stand out. */
const TOKENS_USD = (20 * 1 + 5 * 2) / 1_000_000;
const CAP: GatewayOptions = { budget: { period: 'daily', capUsd: 1_000 } };
const MODEL = PLAIN.model;
const ASK = { model: MODEL, input: 'Hi', max_output_tokens: 100 };
const search = (action: object = { type: 'search', query: 'a' }) => ({
  id: 'ws_1',
  type: 'web_search_call',
  status: 'completed',
  action,
});

async function oneRecord(gateway: TestGateway) {
  const [record] = await gateway.settled(1);
  if (!record) throw new Error('nothing is on record');
  return { ...record, usd: record.costNanoUsd / NANO_PER_USD, heldUsd: record.holdNanoUsd / NANO_PER_USD };
}

/** The cost of a request whose response has these items. */
async function bookedFor(tools: object[], output: object[], rest: object = {}, more: object = {}) {
  const gateway = await startGateway({ ...CAP, alone: true });
  gateway.upstream.queue(json(200, responseBody([...output, messageItem('Hello')], rest)));
  const answer = await gateway.post({ ...ASK, tools, ...more }, { path: '/v1/responses' });
  expect(answer.status).toBe(200);
  return oneRecord(gateway);
}

const eventTexts = (list: { type: string; [field: string]: unknown }[]): string =>
  list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const ran = (container_id: string) => ({ type: 'code_interpreter_call', container_id });

describe('the fees of tools that a provider runs are booked', () => {
  test.each([
    ['no call', [{ type: 'web_search' }], [], 0],
    ['two searches', [{ type: 'web_search' }], [search(), search()], 0.02],
    [
      'one call of three searches',
      [{ type: 'web_search' }],
      [search({ type: 'search', queries: ['a', 'b', 'c'] })],
      0.03,
    ],
    ['opened pages', [{ type: 'web_search' }], [search({ type: 'open_page', url: 'b' })], 0],
    ['the dearer search', [{ type: 'web_search_preview' }], [search()], 0.025],
    ['its dated name', [{ type: 'web_search_preview_2025_03_11' }], [search()], 0.025],
    ['files', [{ type: 'file_search', vector_store_ids: ['v'] }], [{ type: 'file_search_call' }], 0.0025],
    ['no code', [{ type: 'code_interpreter', container: { type: 'auto' } }], [], 0],
    [
      'five minutes of a session',
      [{ type: 'code_interpreter', container: { type: 'auto' } }],
      [ran('cntr_1'), ran('cntr_1')],
      0.0075,
    ],
    [
      'those of two sessions',
      [{ type: 'code_interpreter', container: { type: 'auto' } }],
      [ran('cntr_1'), ran('cntr_2')],
      0.015,
    ],
    [
      'those of a large session',
      [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } }],
      [ran('cntr_1')],
      0.48,
    ],
    [
      'those of a hosted shell',
      [{ type: 'shell', environment: { type: 'container_auto' } }],
      [{ type: 'shell_call' }],
      0.0075,
    ],
    ["the client's shell", [{ type: 'shell', environment: { type: 'local' } }], [], 0],
    [
      'an assumed picture',
      [{ type: 'image_generation' }],
      [{ type: 'image_generation_call', result: 'AAAA' }],
      0.1664,
    ],
    [
      'an MCP server',
      [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }],
      [{ type: 'mcp_call' }],
      0,
    ],
    [
      'a tool of the client',
      [{ type: 'function', name: 'f' }, { type: 'custom', name: 'g' }, { type: 'computer' }],
      [],
      0,
    ],
  ])('%s', async (_what, tools, output, usd) => {
    const record = await bookedFor(tools, output);
    expect(record.usd).toBeCloseTo(TOKENS_USD + usd, 9);
    expect(record.flags).toEqual(/session|hosted|assumed/.test(_what) ? ['estimated'] : []);
    expect(record.heldUsd).toBeGreaterThanOrEqual(record.usd);
  });

  test('by the provider’s own count, if it reports one', async () => {
    const tool_usage = {
      web_search: { num_requests: 3 },
      image_gen: { input_tokens: 1_000, output_tokens: 5_000 },
    };
    const tools = [{ type: 'web_search' }, { type: 'image_generation' }];
    const record = await bookedFor(tools, [search(), { type: 'image_generation_call' }], { tool_usage });
    expect(record.usd).toBeCloseTo(TOKENS_USD + 0.03 + 0.005 + 0.2, 9);
  });

  test.each([
    ['gpt-image-2', 0.008 * 0.7 + 0.005 * 0.3 + 0.15],
    ['gpt-image-1-mini', 0.0025 * 0.7 + 0.002 * 0.3 + 0.04],
  ])('at the price of the image model that the request names: %s', async (model, usd) => {
    const image_gen = {
      input_tokens: 1_000,
      input_tokens_details: { image_tokens: 700, text_tokens: 300 },
      output_tokens: 5_000,
    };
    const record = await bookedFor([{ type: 'image_generation', model }], [], { tool_usage: { image_gen } });
    expect(record.usd).toBeCloseTo(TOKENS_USD + usd, 9);
    expect(record.flags).toEqual([]);
  });

  test('for the longest time where the API has no place to report a container', async () => {
    const gateway = await startGateway({ alone: true });
    const usage = { prompt_tokens: 20, completion_tokens: 5 };
    gateway.upstream.queue(json(200, { choices: [{ message: { content: 'x' } }], usage }));
    const tools = [{ type: 'code_interpreter', container: { type: 'auto' } }];
    await gateway.post({
      model: ASK.model,
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 9,
      tools,
    });
    const record = await oneRecord(gateway);
    expect(record.usd).toBeCloseTo(TOKENS_USD + 0.03, 9);
    expect(record.flags).toEqual(['estimated']);
  });

  test('once for a container that several requests use, and by the minute', async () => {
    let nowMs = Date.parse('2026-11-20T12:00:00Z');
    const gateway = await startGateway({ alone: true, clock: { ...systemClock, now: () => nowMs } });
    gateway.upstream.script(json(200, responseBody([ran('cntr_1'), messageItem('Hello')])));
    const tools = [{ type: 'code_interpreter', container: 'cntr_1' }];
    for (const minutes of [0, 1, 3, 1, 6, 30]) {
      nowMs += minutes * 60_000;
      await gateway.post({ ...ASK, tools }, { path: '/v1/responses' });
    }
    const records = await gateway.settled(6);
    const fees = records.map(({ costNanoUsd }) => Math.round(costNanoUsd / 1e3) / 1e6 - TOKENS_USD);
    expect(fees.map((fee) => Math.round(fee / 0.0015))).toEqual([5, 0, 0, 0, 6, 5]);
  });

  test.each([
    ['searches', { web_search: { num_requests: Number.MAX_SAFE_INTEGER } }],
    ['pictures', { image_gen: { input_tokens: 1, output_tokens: Number.MAX_SAFE_INTEGER } }],
  ])('more %s than can be are booked at the most that can be, and settled', async (_what, tool_usage) => {
    const tools = [{ type: 'web_search' }, { type: 'image_generation' }];
    const record = await bookedFor(tools, [search()], { tool_usage });
    expect(record.usd).toBe(10_000);
    expect(record.flags).toEqual(expect.arrayContaining(['estimated']));
  });

  test('for a stream, and all held fees for one that reports none', async () => {
    const gateway = await startGateway(CAP);
    const ask = { ...ASK, stream: true, max_tool_calls: 2, tools: [{ type: 'web_search' }] };
    gateway.upstream.queue(events(completedEvents(['Hello'], { output: [search(), messageItem('Hello')] })));
    gateway.upstream.queue(events(completedEvents(['Hello'], { output: [] })));
    for (const _ of [1, 2]) await gateway.post(ask, { path: '/v1/responses' });
    const [told, untold] = await gateway.settled(2);
    expect(told?.costNanoUsd).toBe(30_000 + 10_000_000);
    expect(told?.flags).toEqual(['stream']);
    expect(untold?.costNanoUsd).toBe(30_000 + 80_000_000);
    expect(untold?.flags).toEqual(['stream', 'estimated']);
  });

  test('in full, as held, if the provider breaks off', async () => {
    const gateway = await startGateway(CAP);
    gateway.upstream.queue(reset());
    const ask = { ...ASK, max_tool_calls: 2, tools: [{ type: 'web_search' }] };
    await gateway.post(ask, { path: '/v1/responses' });
    const record = await oneRecord(gateway);
    // Two calls of four searches, and a context of a million tokens, read after each call.
    expect(record.usd).toBeGreaterThanOrEqual(0.08 + 2);
    expect(record.usd).toBeLessThanOrEqual(record.heldUsd);
    expect(record.flags).toEqual(['estimated']);
  });

  test('also without a budget', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(json(200, responseBody([search(), messageItem('Hello')])));
    await gateway.post({ ...ASK, tools: [{ type: 'web_search' }] }, { path: '/v1/responses' });
    expect(sentBody(gateway).max_tool_calls).toBeUndefined();
    expect((await oneRecord(gateway)).usd).toBeCloseTo(TOKENS_USD + 0.01, 9);
  });

  test("at the user's price", async () => {
    const gateway = await startGateway(CAP);
    gateway.configure({ fees: { web_search: '0.5' } });
    gateway.upstream.queue(json(200, responseBody([search(), messageItem('Hello')])));
    await gateway.post({ ...ASK, tools: [{ type: 'web_search' }] }, { path: '/v1/responses' });
    expect((await oneRecord(gateway)).usd).toBeCloseTo(TOKENS_USD + 0.5, 9);
  });

  test('at nothing for a provider whose models are free', async () => {
    const gateway = await startGateway({ ...CAP, price: { input: 0, output: 0 } });
    gateway.upstream.queue(json(200, responseBody([search(), messageItem('Hello')])));
    const tools = [{ type: 'web_search' }, { type: 'never_heard_of' }];
    await gateway.post({ ...ASK, tools }, { path: '/v1/responses' });
    expect(await oneRecord(gateway)).toMatchObject({ usd: 0, heldUsd: 0 });
  });
});

test('a free model of a public host has fees all the same', async () => {
  const gateway = await startGateway(CAP);
  gateway.configure({ providers: { openrouter: { baseUrl: gateway.upstream.url } } });
  await gateway.setPrice({ provider: 'openrouter', model: 'a:free', inputPicoUsd: 0, outputPicoUsd: 0 });
  gateway.upstream.queue(json(200, { usage: { prompt_tokens: 7, completion_tokens: 5, cost: 0.03 } }));
  const ask = { ...PLAIN, model: 'openrouter/a:free' };
  expect((await gateway.post({ ...ask, plugins: [{ id: 'web' }] })).status).toBe(402);
  expect((await gateway.post({ ...ask, web_search_options: {} })).status).toBe(200);
  const [, record] = await gateway.settled(2);
  expect(record).toMatchObject({ holdNanoUsd: 50_000_000, costNanoUsd: 30_000_000 });
});

describe('the limit of tool calls', () => {
  const heldFor = async (body: object, options: GatewayOptions = CAP) => {
    const gateway = await startGateway({ ...options, alone: true });
    gateway.upstream.queue(json(200, responseBody([messageItem('Hello')])));
    const answer = await gateway.post({ ...ASK, ...body }, { path: '/v1/responses' });
    return { answer, gateway };
  };
  const tools = [{ type: 'web_search' }];

  test('is written into a request that has none', async () => {
    const { gateway } = await heldFor({ tools });
    expect(sentBody(gateway)).toMatchObject({ max_tool_calls: 5, tools });
    // Five times the context, each for the results of a call, and twenty searches.
    expect((await oneRecord(gateway)).heldUsd).toBeCloseTo(5.2, 1);
  });

  test('is that of the request if it has one', async () => {
    const { gateway } = await heldFor({ tools, max_tool_calls: 3 });
    expect(sentBody(gateway).max_tool_calls).toBe(3);
    expect((await oneRecord(gateway)).heldUsd).toBeCloseTo(3.12, 1);
  });

  test('is cut to what a budget affords before the output is', async () => {
    const { gateway } = await heldFor({ tools }, { budget: { period: 'daily', capUsd: 5 } });
    expect(sentBody(gateway)).toMatchObject({ max_tool_calls: 4, max_output_tokens: 100 });
  });

  test('is a 402 if not even one call fits', async () => {
    const { answer, gateway } = await heldFor({ tools }, { budget: { period: 'daily', capUsd: 0.9 } });
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
  });

  const mine = { type: 'function', name: 'f', parameters: {} };

  test.each<[object, object, string[] | undefined]>([
    [{ tools: [mine, ...tools] }, { tools: [mine] }, ['tools[] (web_search)']],
    [
      { tools: [...tools, mine, { type: 'web_search_preview' }] },
      { tools: [mine] },
      ['tools[] (web_search)'],
    ],
    [{ tools: [mine, ...tools], tool_choice: { type: 'web_search' } }, {}, undefined],
    [{ tools: [mine, ...tools], max_tool_calls: 2 }, {}, undefined],
    [{ tools: [mine, { type: 'file_search', vector_store_ids: ['v'] }] }, {}, undefined],
  ])('is none where no call fits and the searches can be left out: %j', async (body, sent, leftOut) => {
    const { answer, gateway } = await heldFor(body, { budget: { period: 'daily', capUsd: 0.9 } });
    expect(answer.status).toBe(leftOut ? 200 : 402);
    const [record] = await gateway.settled(1);
    expect(record?.detail.left_out).toEqual(leftOut);
    if (!leftOut) return;
    expect(sentBody(gateway)).toEqual({
      ...ASK,
      ...body,
      ...sent,
      model: 'test-model',
    });
    expect(record?.holdNanoUsd).toBeLessThan(0.01 * NANO_PER_USD);
  });

  test('is one with less output rather than none with more', async () => {
    const ask = { tools: [mine, ...tools], max_output_tokens: 400_000 };
    const { gateway } = await heldFor(ask, { budget: { period: 'daily', capUsd: 1.5 } });
    expect(sentBody(gateway)).toMatchObject({ max_tool_calls: 1, tools: ask.tools });
    expect(sentBody(gateway).max_output_tokens).toBeLessThan(400_000);
  });

  test('is held for a stored prompt, whose tools are unknown', async () => {
    const { gateway } = await heldFor({ prompt: { id: 'pmpt_1' }, max_tool_calls: 1 });
    const { heldUsd, flags, detail } = await oneRecord(gateway);
    expect(heldUsd).toBeGreaterThanOrEqual(2 + 0.4 + 0.03);
    expect(flags).toContain('estimated');
    expect(detail).toMatchObject({ assumed: ['the tools of a stored prompt'] });
  });

  test('is held if an item of the conversation adds the tools', async () => {
    const item = { type: 'additional_tools', role: 'developer', tools };
    const { gateway } = await heldFor({ input: [{ role: 'user', content: 'Hi' }, item] });
    expect(sentBody(gateway).max_tool_calls).toBe(5);
  });

  test.each([
    [{ tools: [{ type: 'never_heard_of' }] }, 'never_heard_of'],
    [{ tools: [{ type: 'web_s\u0065arch_pro' }] }, 'web_search_pro'],
    [{ plugins: [{ id: 'web' }] }, 'plugins'],
  ])('is not known of %j, which is refused until it has a price', async (body, name) => {
    const { answer, gateway } = await heldFor(body);
    const error = { code: 'cost_unbounded', command: expect.stringContaining('gw config set fees.') };
    expect([answer.status, answer.json()]).toMatchObject([402, { error }]);
    gateway.configure({ fees: { [name]: '0.25' } });
    const again = await gateway.post({ ...ASK, ...body }, { path: '/v1/responses' });
    expect(again.status).toBe(200);
  });

  test.each([
    ['a repeated type', '[{"type":"function","type":"web_search"}]'],
    ['a repeated list', '[],"tools":[{"type":"web_search"}]'],
  ])('is not guessed for %s', async (_what, list) => {
    const gateway = await startGateway(CAP);
    const body = `{"model":"${MODEL}","input":"Hi","tools":${list}}`;
    const answer = await gateway.post(body, { path: '/v1/responses' });
    expect([answer.status, answer.json()]).toMatchObject([400, { error: { code: 'duplicate_parameter' } }]);
  });
});

test("Codex's requests, all of which may search, fit into five dollars", async () => {
  const gateway = await startGateway({ budget: { period: 'daily', capUsd: 5 } });
  gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
  gateway.upstream.script(events(completedEvents(['Hello'], { output: [search(), messageItem('Hello')] })));
  const tools = [
    { type: 'function', name: 'exec_command', parameters: { type: 'object', properties: {} }, strict: false },
    { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
    {
      type: 'namespace',
      name: 'mcp',
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    },
    { type: 'web_search', external_web_access: true },
  ];
  const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }];
  const ask = {
    model: 'openai/gpt-5-codex',
    instructions: 'Be brief',
    input,
    tools,
    store: false,
    stream: true,
  };
  for (const _ of [1, 2]) {
    const answer = await gateway.post(ask, {
      path: '/v1/responses',
      headers: { originator: 'codex_cli_rs' },
    });
    expect(answer.status).toBe(200);
  }
  expect(sentBody(gateway)).toEqual({
    ...ask,
    model: 'gpt-5-codex',
    service_tier: 'default',
    max_tool_calls: 5,
  });
  const [record] = await gateway.settled(2);
  expect(record?.costNanoUsd).toBe(10_000_000 + 20 * 1_250 + 5 * 10_000);
  expect(record?.holdNanoUsd).toBeLessThan(5 * NANO_PER_USD);
});

test.each([
  ['xai', 402],
  ['fireworks', 200],
])('a limit that %s passes over bounds nothing', async (provider, status) => {
  const gateway = await startGateway(CAP);
  gateway.configure({ providers: { [provider]: { baseUrl: gateway.upstream.url } } });
  await gateway.setPrice({ provider, model: 'm', inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 });
  const body = { ...ASK, model: `${provider}/m`, tools: [{ type: 'web_search' }], max_tool_calls: 1 };
  gateway.upstream.queue(json(200, responseBody([messageItem('Hello')])));
  const answer = await gateway.post(body, { path: '/v1/responses' });
  expect(answer.status).toBe(status);
  if (status === 402)
    expect(answer.json()).toMatchObject({ error: { code: 'cost_unbounded', param: 'tools' } });
});

describe('chat completions', () => {
  const ask = (more: object) => ({ ...PLAIN, max_tokens: 50, ...more });
  const usage = { prompt_tokens: 20, completion_tokens: 5 };

  test.each([
    [{ web_search_options: {} }, 0.025],
    [{ web_search_options: { search_context_size: 'high' }, n: 2 }, 0.05],
    [{ model: 'mock/gpt-4o-search-preview' }, 0.025],
    [{ tools: [{ type: 'function', function: { name: 'web_search' } }] }, 0],
    [{ enable_search: false }, 0],
  ])('are held and booked with their one search: %j', async (more, usd) => {
    const gateway = await startGateway(CAP);
    for (const model of ['gpt-4o-search-preview']) {
      await gateway.setPrice({ provider: 'mock', model, inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 });
    }
    gateway.upstream.queue(json(200, { choices: [{ message: { content: 'Hello' } }], usage }));
    expect((await gateway.post(ask(more))).status).toBe(200);
    const record = await oneRecord(gateway);
    expect(record.usd).toBeCloseTo(TOKENS_USD + usd, 9);
    expect(record.heldUsd).toBeGreaterThanOrEqual(record.usd);
  });

  test.each([
    { tools: [{ type: 'web_search' }] },
    { tools: [{ google_search: {} }] },
    { tools: [{ url_context: {} }] },
    { tools: [{ function: { name: 'f' }, google_search: {} }] },
    { tools: [{ type: 'function', function: { name: 'f' }, googleSearch: {} }] },
    { extra_body: { google: { tools: [{ google_search: {} }] } } },
    { tools: [{ type: 'openrouter:web_search' }] },
    { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
    { search_parameters: { mode: 'on' } },
    { enable_search: true },
    { model: 'mock/test-model:online' },
    { model: 'mock/sonar-deep-research' },
  ])('are refused where nothing bounds how often a tool runs: %j', async (more) => {
    const gateway = await startGateway(CAP);
    for (const model of ['test-model:online', 'sonar-deep-research']) {
      await gateway.setPrice({ provider: 'mock', model, inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 });
    }
    const answer = await gateway.post(ask(more));
    expect([answer.status, gateway.upstream.requests]).toEqual([402, []]);
    expect(answer.json()).toMatchObject({ error: { code: 'cost_unbounded', param: Object.keys(more)[0] } });
  });
});

describe("Anthropic's messages", () => {
  const messages = [{ role: 'user', content: 'Hi' }];
  const ask = (tools: object[]) => ({ model: 'claude/test-model', max_tokens: 50, messages, tools });
  const usage = { input_tokens: 20, output_tokens: 5, server_tool_use: { web_search_requests: 2 } };

  async function answered(body: object, answerUsage: object = usage, more: object = {}) {
    const gateway = await startGateway(CAP);
    gateway.configure({ providers: { claude: { baseUrl: gateway.upstream.url, wire: 'anthropic' } } });
    const price = { inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 };
    await gateway.setPrice({ provider: 'claude', model: 'test-model', ...price });
    const content = [{ type: 'text', text: 'Hello' }];
    gateway.upstream.queue(
      json(200, { type: 'message', role: 'assistant', content, usage: answerUsage, ...more }),
    );
    const answer = await gateway.post(body, { path: '/v1/messages' });
    return { answer, gateway };
  }

  test('get a limit for each search that has none, and are booked as reported', async () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'web_fetch_20250910', name: 'web_fetch', max_uses: 2 },
      { name: 'f', input_schema: { type: 'object' } },
    ];
    const { gateway } = await answered(ask(tools));
    expect(sentBody(gateway).tools).toEqual([{ ...tools[0], max_uses: 5 }, tools[1], tools[2]]);
    const record = await oneRecord(gateway);
    expect(record.usd).toBeCloseTo(TOKENS_USD + 0.02, 9);
    // A million tokens for each of the five searches and two pages.
    expect(record.heldUsd).toBeGreaterThan(7);
  });

  test('are held for their own limit', async () => {
    const { gateway } = await answered(
      ask([{ type: 'web_search_20260209', name: 'web_search', max_uses: 2 }]),
    );
    const record = await oneRecord(gateway);
    expect(record.heldUsd).toBeGreaterThan(3);
    expect(record.heldUsd).toBeLessThan(3.2);
  });

  describe('are booked with the minutes of code execution', () => {
    const plain = { input_tokens: 20, output_tokens: 5 };
    const CODE = { type: 'code_execution_20260120', name: 'code_execution' };
    const container = { id: 'container_1', expires_at: '2026-11-20T12:00:00Z' };

    test.each([
      ['that ran', [CODE], { container }, 0.05 / 12, ['estimated']],
      ['that did not run', [CODE], { container: null }, 0, []],
      ['that is free', [CODE, { type: 'web_search_20260209', name: 'web_search' }], { container }, 0, []],
      [
        'beside a search of old',
        [CODE, { type: 'web_search_20250305', name: 'web_search' }],
        { container },
        0.05 / 12,
        ['estimated'],
      ],
    ])('%s', async (_, tools, more, usd, flags) => {
      const { gateway } = await answered(ask(tools), plain, more);
      const record = await oneRecord(gateway);
      expect(record.usd).toBeCloseTo(TOKENS_USD + usd, 8);
      expect(record.flags).toEqual(flags);
    });

    test('in a stream', async () => {
      const { gateway } = await answered(ask([]), plain);
      const events = [
        { type: 'message_start', message: { usage: plain } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', container }, usage: plain },
        { type: 'message_stop' },
      ];
      gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, eventTexts(events)));
      await gateway.post({ ...ask([CODE]), stream: true }, { path: '/v1/messages' });
      const [, record] = await gateway.settled(2);
      expect(record?.costNanoUsd).toBe(30_000 + Math.ceil(50_000_000 / 12));
    });
  });

  describe('that run code', () => {
    const CODE = { type: 'code_execution_20260120', name: 'code_execution' };
    const read = (tokens: number) => ({ input_tokens: tokens, output_tokens: 5 });
    const ran = (printed: string) =>
      eventTexts([
        { type: 'message_start', message: { usage: read(20) } },
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} },
        },
        {
          type: 'content_block_start',
          index: 1,
          content_block: {
            type: 'bash_code_execution_tool_result',
            tool_use_id: 's1',
            content: { type: 'bash_code_execution_result', stdout: printed, stderr: '', return_code: 0 },
          },
        },
      ]);

    test('are held for ten rounds that print 25,000 tokens each', async () => {
      const { gateway } = await answered(ask([CODE]), read(20));
      const { heldUsd } = await oneRecord(gateway);
      // 25,000 after the first round, 250,000 after the last.
      expect(heldUsd).toBeGreaterThan(1.375);
      expect(heldUsd).toBeLessThan(1.5);
    });

    test('are held for what a container and its skills add, and for results of earlier turns', async () => {
      const { gateway } = await answered(ask([]), read(20));
      const skills = [{ type: 'anthropic', skill_id: 'pptx', version: 'latest' }];
      const call = {
        type: 'server_tool_use',
        id: 's1',
        name: 'bash_code_execution',
        input: { command: 'ls' },
      };
      const content = { type: 'bash_code_execution_result', stdout: 'a', stderr: '', return_code: 0 };
      const result = { type: 'bash_code_execution_tool_result', tool_use_id: 's1', content };
      const more = [{ role: 'assistant', content: [call, result] }, ...messages];
      const body = { ...ask([CODE]), messages: [...messages, ...more], container: { id: 'c', skills } };
      gateway.upstream.queue(json(200, { type: 'message', content: [], usage: read(20) }));
      await gateway.post(body, { path: '/v1/messages' });
      const [, record] = await gateway.settled(2);
      expect((record?.holdNanoUsd ?? 0) / NANO_PER_USD).toBeLessThan(1.6);
    });

    test('are held for whole contexts once a round has printed more', async () => {
      const { gateway } = await answered(ask([CODE]), read(2_000_000));
      await oneRecord(gateway);
      gateway.upstream.queue(json(200, { type: 'message', content: [], usage: read(20) }));
      await gateway.post(ask([CODE]), { path: '/v1/messages' });
      const [, second] = await gateway.settled(2);
      expect((second?.holdNanoUsd ?? 0) / 1e9).toBeGreaterThan(10);
    });

    test('are cut in a stream when a result leaves no room for what a round may read', async () => {
      const { gateway } = await answered(ask([]), read(20));
      gateway.upstream.queue(async (exchange) => {
        await exchange.start(200, { 'content-type': 'text/event-stream' });
        await exchange.chunk(ran('7'.repeat(500_000)));
        await exchange.untilGone();
      });
      const answer = await gateway.post({ ...ask([CODE]), stream: true }, { path: '/v1/messages' });
      expect(answer.text()).toContain('message_stop');
      const [, record] = await gateway.settled(2);
      expect(record).toMatchObject({ outcome: 'capped' });
      expect(record?.costNanoUsd).toBeLessThanOrEqual(record?.holdNanoUsd ?? 0);
      expect(record?.costNanoUsd).toBeGreaterThan(500_000 * 1_000);
    });

    test('go on in a stream whose results are of the usual size', async () => {
      const { gateway } = await answered(ask([]), read(20));
      const end = eventTexts([
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: read(90) },
        { type: 'message_stop' },
      ]);
      const stream = `${ran('7'.repeat(30_000)).repeat(2)}${end}`;
      gateway.upstream.queue(respond(200, { 'content-type': 'text/event-stream' }, stream));
      await gateway.post({ ...ask([CODE]), stream: true }, { path: '/v1/messages' });
      const [, record] = await gateway.settled(2);
      expect(record).toMatchObject({ outcome: 'ok', costNanoUsd: 90_000 + 10_000 });
    });
  });

  test('are refused with an advisor, which is billed at the price of another model', async () => {
    const { answer } = await answered(
      ask([{ type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5' }]),
    );
    expect([answer.status, answer.json()]).toMatchObject([402, { type: 'error' }]);
  });
});

test.each([
  ['pictures', { type: 'image_generation' }],
  ['files', { type: 'file_search' }],
  ['pictures with a limit that no API has there', { type: 'image_generation', max_uses: 1 }],
])('a fee for each call is not held where the API limits no calls: %s', async (_, tool) => {
  const gateway = await startGateway({ ...CAP, alone: true });
  gateway.configure({ providers: { claude: { baseUrl: gateway.upstream.url, wire: 'anthropic' } } });
  await gateway.setPrice({ provider: 'claude', model: 'm', inputPicoUsd: 1e6, outputPicoUsd: 1e6 });
  const messages = [{ role: 'user', content: 'Hi' }];
  const body = { model: 'claude/m', max_tokens: 9, messages, tools: [tool] };
  const answer = await gateway.post(body, { path: '/v1/messages' });
  expect([answer.status, answer.text()]).toEqual([402, expect.stringContaining(tool.type)]);
  expect(gateway.upstream.requests).toEqual([]);
});
