import { describe, expect, test } from 'vitest';
import { createKey } from '../../src/store/accounts/keys.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';

const FREE = { input: 0, output: 0 };
const HI = [{ role: 'user', content: 'hi' }];

/** A gateway whose project may spend nothing at providers that answer, and bill, whatever they are asked. */
async function penniless(providers: readonly string[] = ['mock']): Promise<TestGateway> {
  const gateway = await startGateway({
    alone: true,
    price: FREE,
    budget: { period: 'daily', capUsd: 0 },
  });
  gateway.configure({
    providers: Object.fromEntries(providers.map((name) => [name, { baseUrl: gateway.upstream.url }])),
  });
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, total_tokens: 2_000_000 };
  gateway.upstream.script(json(200, { choices: [{ message: { content: 'x' } }], usage }));
  return gateway;
}

describe('a path in another spelling', () => {
  // What uvicorn, Go and nginx decode, cut or resolve before they route, and what Windows servers don't tell apart.
  const spellings = (path: string) => [
    path.replace('c', '%63'),
    path.replace('s', '%73').replace('o', '%6F'),
    `${path};x`,
    path.replace('/v1/', '/v1/;x/'),
    `${path}%20`,
    `${path}%00`,
    `${path}.`,
    `${path}%2e`,
    `/v1/./${path.slice(4)}`,
    `/v1/files/..${path.slice(3)}`,
    `/v1/files/%2e%2e${path.slice(3)}`,
    `/v1/files/..;${path.slice(3)}`,
    `/v1/files%2F..${path.slice(3)}`,
    `/v1/files%5C..${path.slice(3)}`,
    path.replace('/v1/', '/v1%2f'),
    path.replace('c', '%2563'),
    path.replace(/(?<=\/)[a-z]/g, (letter) => letter.toUpperCase()).replace('/V1', '/v1'),
    path.toUpperCase().replace('/V1', '/v1'),
    path.replace('s', '\u017f'.normalize('NFKC') === 's' ? '%C5%BF' : 's'),
    `/v1//${path.slice(4)}/`,
    `/v1/v1/v1/${path.slice(4)}`,
  ];

  test.each(['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'])(
    'is %s to gw, or refused: a model of no price opens no other way to it',
    async (path) => {
      const gateway = await penniless();
      const models = ['mock/dear'];
      const body = {
        model: 'mock/test-model',
        models,
        max_tokens: 9,
        messages: HI,
        input: 'hi',
        prompt: 'hi',
      };
      for (const spelled of spellings(path)) {
        const { status } = await gateway.post(body, { path: spelled });
        expect([spelled, [400, 402, 404].includes(status)]).toEqual([spelled, true]);
      }
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test('does not leave the stage that refuses answers in the background', async () => {
    const gateway = await startGateway({ alone: true });
    const body = { model: 'mock/test-model', input: 'hi', background: true };
    const answers: number[] = [];
    for (const path of spellings('/v1/responses')) answers.push((await gateway.post(body, { path })).status);
    expect(new Set(answers)).toEqual(new Set([400, 404]));
    expect(gateway.upstream.requests).toEqual([]);
  });
});

describe('with a cap of $0.00', () => {
  test.each([
    ['mistral', 'POST', '/v1/conversations'],
    ['mistral', 'POST', '/v1/conversations/conv_1'],
    ['mistral', 'POST', '/v1/conversations/conv_1/restart'],
    ['mistral', 'POST', '/v1/moderations'],
    ['mistral', 'POST', '/v1/agents/completions'],
    ['mock', 'POST', '/v1/moderations'],
    ['mock', 'POST', '/v1/anything/cancel'],
    ['mock', 'PATCH', '/v1/files/file-1'],
    ['mock', 'POST', '/v1/files/run'],
    ['mock', 'GET', '/v1/health'],
    ['mock', 'DELETE', '/v1/anything'],
    ['mock', 'POST', '/v1/videos'],
    ['mock', 'POST', '/v1/images/generations'],
    ['mock', 'POST', '/v1/batches'],
    ['openai', 'POST', '/v1/conversations/conv_1/restart'],
    ['openai', 'POST', '/v1/responses/resp_1/cancel/cancel'],
    ['anthropic', 'POST', '/v1/messages/batches'],
    ['anthropic', 'POST', '/v1/skills'],
  ])('%s: %s %s is not taken for free', async (provider, method, path) => {
    const gateway = await penniless([provider, 'mock']);
    const headers = { 'x-service-provider': provider };
    const body = method === 'GET' ? undefined : { model: 'mock/test-model', inputs: 'hi' };
    const answer = await gateway.post(body, { path, method, headers });
    expect([answer.status, gateway.upstream.requests.length]).toEqual([402, 0]);
  });

  test.each([
    ['openai', 'POST', '/v1/moderations'],
    ['openai', 'POST', '/v1/conversations'],
    ['openai', 'GET', '/v1/responses/resp_1'],
    ['openai', 'POST', '/v1/responses/resp_1/cancel'],
    ['mistral', 'GET', '/v1/conversations/conv_1'],
    ['mock', 'GET', '/v1/files/file-1/content'],
    ['mock', 'POST', '/v1/files'],
    ['mock', 'DELETE', '/v1/batches/batch_1'],
    ['anthropic', 'GET', '/v1/messages/batches/msgbatch_1'],
  ])('%s: %s %s costs nothing, as its document says', async (provider, method, path) => {
    const gateway = await penniless([provider]);
    gateway.upstream.script(json(200, { id: 'x' }));
    const body = method === 'POST' ? { input: 'hi' } : undefined;
    const answer = await gateway.post(body, { path, method, headers: { 'x-service-provider': provider } });
    expect(answer.status).toBe(200);
  });
});

test('an endpoint that reports a cost is booked, flagged and no longer taken for free', async () => {
  const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5 } });
  gateway.configure({ providers: { openai: { baseUrl: gateway.upstream.url } } });
  await gateway.setPrice({ provider: 'openai', model: 'omni', inputPicoUsd: 1e9, outputPicoUsd: 1e9 });
  gateway.upstream.script(json(200, { results: [], usage: { prompt_tokens: 100, completion_tokens: 1 } }));
  const ask = () => gateway.post({ model: 'openai/omni', input: 'hi' }, { path: '/v1/moderations' });
  expect((await ask()).status).toBe(200);
  const [record] = await gateway.settled(1);
  expect(record).toMatchObject({ costNanoUsd: 101_000_000, flags: ['overrun'] });
  expect((await ask()).status).toBe(402);
  expect(gateway.upstream.requests).toHaveLength(1);
});

describe('an endpoint that no document names', () => {
  const CALL = { path: '/v1/health', method: 'GET' } as const;

  test('passes for the owner of one project alone', async () => {
    const gateway = await startGateway({ alone: true });
    gateway.upstream.script(json(200, {}));
    expect((await gateway.post(undefined, CALL)).status).toBe(200);
  });

  test('does not beside other projects, unless the owner opens it', async () => {
    const gateway = await startGateway();
    gateway.upstream.script(json(200, {}));
    const admin = { ...CALL, headers: { authorization: `Bearer ${gateway.adminKey}` } };
    const answers = async () => [
      (await gateway.post(undefined, CALL)).status,
      (await gateway.post(undefined, admin)).status,
    ];
    expect(await answers()).toEqual([403, 403]);
    gateway.configure({ 'passthrough.unlisted': 'admin' });
    expect(await answers()).toEqual([403, 200]);
    gateway.configure({ 'passthrough.unlisted': 'allow' });
    expect((await gateway.post(undefined, admin)).status).toBe(200);
  });
});

async function limitedKey({ db, project }: TestGateway, models: string[]): Promise<string> {
  return (await createKey(db, { projectId: project.id, now: Date.now(), models })).key;
}

describe('a key with models of its own', () => {
  const form = (...parts: string[]) => `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
  const field = (name: string, value: string, more = '') =>
    `content-disposition: form-data; name="${name}"${more}\r\n\r\n${value}`;
  const CHAT = { model: 'mock/cheap', messages: HI };

  test.each<[string, string, unknown, Record<string, string>?]>([
    ['a list of models', '/v1/chat/completions', { ...CHAT, models: ['mock/dear'] }],
    ['a fallback', '/v1/messages', { ...CHAT, max_tokens: 9, fallbacks: [{ model: 'mock/dear' }] }],
    [
      'a member with an escape in its name',
      '/v1/chat/completions',
      '{"m\\u006fdels":["mock/dear"],"model":"mock/cheap","messages":[{"role":"user","content":"hi"}]}',
    ],
    [
      "a tool's model",
      '/v1/responses',
      { model: 'mock/cheap', input: 'hi', tools: [{ type: 'image_generation', model: 'gpt-image-1' }] },
    ],
    ['a nested list', '/v1/chat/completions', { ...CHAT, extra_body: { models: ['mock/dear'] } }],
    [
      'a known model in a place that is not',
      '/v1/chat/completions',
      { ...CHAT, plugins: [{ id: 'x', via: 'gpt-5.2-pro' }] },
    ],
    ['an agent', '/v1/chat/completions', { ...CHAT, agent_id: 'ag_1' }],
    ['a preset', '/v1/chat/completions', { ...CHAT, preset: 'mine' }],
    ['a stored prompt', '/v1/responses', { model: 'mock/cheap', input: 'hi', prompt: { id: 'pmpt_1' } }],
    [
      'a batch with a dummy model',
      '/v1/batches',
      { model: 'mock/cheap', input_file_id: 'file-1', endpoint: '/v1/x' },
    ],
    [
      'requests within one',
      '/v1/messages/batches',
      { model: 'mock/cheap', requests: [{ params: { model: 'mock/dear' } }] },
    ],
    [
      'a second field of a form',
      '/v1/images/edits',
      form(field('model', 'mock/cheap'), field('model', 'mock/dear')),
    ],
    [
      'a field without quotes',
      '/v1/images/edits',
      form(field('model', 'mock/cheap'), 'content-disposition: form-data; name=model\r\n\r\nmock/dear'),
    ],
    [
      'a field with a file name',
      '/v1/images/edits',
      form(field('model', 'mock/cheap'), field('model', 'mock/dear', '; filename="a"')),
    ],
    ['a field behind another boundary', '/v1/images/edits', `--c\r\n${form(field('model', 'mock/cheap'))}`],
    ['a form without a model', '/v1/images/edits', form(field('prompt', 'hi'))],
  ])('is not taken to another one by %s', async (_, path, body) => {
    const gateway = await startGateway({ alone: true, settings: { 'passthrough.unmetered': 'allow' } });
    const key = await limitedKey(gateway, ['mock/cheap']);
    const type = String(body).startsWith('--') ? 'multipart/form-data; boundary=b' : 'application/json';
    const headers = { authorization: `Bearer ${key}`, 'content-type': type };
    const answer = await gateway.post(body, { path, headers });
    expect([answer.status === 403 || answer.status === 400, gateway.upstream.requests.length]).toEqual([
      true,
      0,
    ]);
  });

  test('may use its own in every such place', async () => {
    const gateway = await startGateway({ alone: true });
    const key = await limitedKey(gateway, ['mock/cheap', 'gpt-*']);
    gateway.upstream.script(json(200, { id: 'x' }));
    const post = async (path: string, body: unknown, type = 'application/json') =>
      (await gateway.post(body, { path, headers: { authorization: `Bearer ${key}`, 'content-type': type } }))
        .status;
    const words = {
      messages: [{ role: 'user', content: 'gpt-5.2 or mock/dear?' }],
      user: 'gpt-fan',
      metadata: { model: 'dear' },
    };
    const tools = [
      {
        type: 'function',
        function: { name: 'pick', parameters: { properties: { model: { enum: ['dear'] } } } },
      },
    ];
    expect(await post('/v1/chat/completions', { ...CHAT, ...words, tools })).toBe(200);
    expect(
      await post(
        '/v1/images/edits',
        form(field('model', 'mock/cheap'), field('prompt', 'mock/dear')),
        'multipart/form-data; boundary=b',
      ),
    ).toBe(200);
  });
});

describe('what is not on the list of a query or of headers', () => {
  const ODD = {
    'x-portkey-config': 'pc-1',
    'helicone-target-url': 'https://x.test',
    'openai-organization': 'org-1',
    'openai-project': 'proj_1',
    'x-goog-user-project': 'p',
    'x-original-url': '/v1/other',
    'x-forwarded-host': 'x.test',
    'x-litellm-tags': 't',
    'cf-aig-custom-provider': 'p',
    'x-rewrite-url': '/v1/other',
    'x-model': 'dear',
  };
  const KEPT = {
    'anthropic-beta': 'a',
    'openai-beta': 'b',
    'x-stainless-lang': 'js',
    'x-claude-code-session-id': 's',
    'x-codex-turn-metadata': '{}',
    'user-agent': 'me',
    'idempotency-key': 'i',
    'x-session-id': 's',
  };
  const PATH = '/v1/chat/completions?api-version=2026-01-01&model=mock/dear&beta=true&provider=x';

  async function sent(gateway: TestGateway) {
    gateway.upstream.script(json(200, { choices: [{ message: { content: 'x' } }] }));
    const body = { model: 'mock/test-model', messages: HI, max_tokens: 9 };
    expect((await gateway.post(body, { path: PATH, headers: { ...ODD, ...KEPT } })).status).toBe(200);
    const request = await gateway.upstream.nextRequest();
    return { path: request.path, names: request.head.headers.map(([name]) => name.toLowerCase()) };
  }

  test.each([
    ['under a budget', { alone: true, budget: { period: 'daily', capUsd: 5 } }],
    ['beside another project', {}],
  ] as const)('does not reach a provider %s, and the record names it', async (_, options) => {
    const gateway = await startGateway(options);
    const { path, names } = await sent(gateway);
    expect(path).toBe('/v1/chat/completions?api-version=2026-01-01&beta=true');
    expect(names.filter((name) => name in ODD)).toEqual([]);
    expect(Object.keys(KEPT).filter((name) => !names.includes(name))).toEqual([]);
    const [record] = await gateway.settled(1);
    expect(record?.detail.left_out).toEqual([...Object.keys(ODD), '?model', '?provider']);
  });

  test('passes where the owner names it', async () => {
    const gateway = await startGateway();
    gateway.configure({ 'passthrough.names': 'Helicone-Target-Url, provider' });
    const { path, names } = await sent(gateway);
    expect(path).toBe('/v1/chat/completions?api-version=2026-01-01&beta=true&provider=x');
    expect(names.filter((name) => name in ODD)).toEqual(['helicone-target-url']);
  });

  test('passes for the owner of one project without a budget', async () => {
    const { path, names } = await sent(await startGateway({ alone: true }));
    expect(path).toBe(PATH);
    expect(Object.keys(ODD).filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe('a word that is spelled with escapes', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://x.test/1.png' } };
  const picture = { type: 'image_url', image_url: { url: 'https://x.test/1.png', detail: 'original' } };
  const CASES: [string, object][] = [
    [
      '/v1/chat/completions',
      { model: 'mock/test-model', messages: [{ role: 'user', content: [picture] }], max_tokens: 9 },
    ],
    [
      '/v1/responses',
      {
        model: 'mock/test-model',
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x.test/1.png' }] }],
        max_output_tokens: 9,
      },
    ],
    [
      '/v1/messages',
      { model: 'claude/test-model', messages: [{ role: 'user', content: [image] }], max_tokens: 9 },
    ],
    ['/v1/embeddings', { model: 'mock/test-model', input: 'hi' }],
    ['/v1/completions', { model: 'mock/test-model', prompt: 'hi', max_tokens: 9 }],
  ];
  const escapes = (json: string) => json.replace(/[a-z_]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`);

  test.each(CASES)('%s: is what it says, to gw and to the provider', async (path, body) => {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 1_000 } });
    const baseUrl = gateway.upstream.url;
    gateway.configure({ providers: { mock: { baseUrl }, claude: { baseUrl, wire: 'anthropic' } } });
    await gateway.setPrice({
      provider: 'claude',
      model: 'test-model',
      inputPicoUsd: 1e6,
      outputPicoUsd: 1e6,
    });
    gateway.upstream.script(json(200, {}));
    const plain = JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    await gateway.post(plain, { path, headers });
    await gateway.post(escapes(plain), { path, headers });
    const [first, second] = gateway.upstream.requests.map((each) => each.body.toString());
    expect(second).toBe(first);
    const holds = (await gateway.settled(2)).map(({ holdNanoUsd, detail }) => [holdNanoUsd, detail.need]);
    expect(holds[1]).toEqual(holds[0]);
  });
});

describe('what OpenRouter does without being asked', () => {
  const pdf = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } };
  const ask = (content: unknown[], more: object = {}) => ({
    ...{ model: 'openrouter/m', max_tokens: 9, messages: [{ role: 'user', content }] },
    ...more,
  });

  async function withCap(capUsd: number) {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd } });
    gateway.configure({ providers: { openrouter: { baseUrl: gateway.upstream.url } } });
    for (const model of ['m', 'm@preset/x'])
      await gateway.setPrice({ provider: 'openrouter', model, inputPicoUsd: 1, outputPicoUsd: 1 });
    const usage = { prompt_tokens: 9, completion_tokens: 9, cost: 2 };
    gateway.upstream.script(json(200, { choices: [{ message: { content: 'x' } }], usage }));
    return gateway;
  }

  test.each([
    ['a document', ask([pdf])],
    ['three of them', ask([pdf, pdf, pdf])],
    ['a document beside text', ask([{ type: 'text', text: 'hi' }, pdf])],
    [
      'a document in the words of another API',
      { input: [{ role: 'user', content: [pdf] }] },
      '/v1/responses',
    ],
    ['a preset in the name', ask([{ type: 'text', text: 'hi' }], { model: 'openrouter/m@preset/x' })],
  ] as [string, object, string?][])(
    'is held at its worst: %s',
    async (_, body, path = '/v1/chat/completions') => {
      const gateway = await withCap(2);
      expect((await gateway.post({ model: 'openrouter/m', ...body }, { path })).status).toBe(402);
      expect(gateway.upstream.requests).toEqual([]);
    },
  );

  test('passes where the cap has room for it, or the owner knows its fee', async () => {
    const gateway = await withCap(5);
    expect((await gateway.post(ask([pdf]))).status).toBe(200);
    const [record] = await gateway.settled(1);
    expect(record?.holdNanoUsd).toBeGreaterThanOrEqual(2.2e9);
    expect(record?.costNanoUsd).toBe(2e9);
    gateway.configure({
      providers: { openrouter: { baseUrl: gateway.upstream.url } },
      fees: { file_parser: '0' },
    });
    expect((await gateway.post(ask([pdf, pdf]))).status).toBe(200);
  });
});

test.each(['groq/compound', 'groq/compound-beta-mini', 'groq/groq/compound-mini'])(
  'what Groq searches and runs by itself is not held at nothing: %s',
  async (model) => {
    const gateway = await startGateway({ alone: true, budget: { period: 'daily', capUsd: 5 } });
    const providers = { groq: { baseUrl: gateway.upstream.url } };
    gateway.configure({ providers });
    const price = { inputPicoUsd: 1, outputPicoUsd: 1 };
    await gateway.setPrice({ provider: 'groq', model: model.slice(5), ...price });
    const ask = () => gateway.post({ model, max_tokens: 9, messages: HI });
    const refused = await ask();
    expect([refused.status, refused.json()]).toMatchObject([402, { error: { code: 'cost_unbounded' } }]);
    gateway.configure({ providers, fees: { compound: '0.05' } });
    expect((await ask()).status).toBe(200);
  },
);

test('a key of gw that a client sends as a name is in no record', async () => {
  const gateway = await startGateway({ alone: true });
  const headers = { 'x-session-id': gateway.key, 'user-agent': `${gateway.key}/1.0` };
  await gateway.post({ model: gateway.key, messages: HI }, { headers });
  await gateway.post({ model: `mock/${gateway.key}`, messages: HI }, { headers });
  const records = await gateway.settled(2);
  expect(records.map(({ askedModel }) => askedModel)).toEqual(['sk-gw-[redacted]', 'mock/sk-gw-[redacted]']);
  expect(JSON.stringify(records)).not.toContain(gateway.key);
  const names = gateway.db.prepare<[], string>('SELECT name FROM names').pluck().all();
  expect(names.join()).not.toContain(gateway.key.slice(6));
});
