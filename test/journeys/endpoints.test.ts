import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { openRun } from '../../src/store/budgets/runs.ts';
import { VERSION } from '../../src/version.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { request } from '../support/client.ts';
import { MODEL, PLAIN, STREAM, startGateway, type TestGateway } from '../support/gateway.ts';
import { status } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const client = (gateway: TestGateway, apiKey = gateway.key) =>
  new OpenAI({ apiKey, baseURL: gateway.url, maxRetries: 0 });

describe('a completion through the openai package', () => {
  test('plain: the answer, and its record by the request id', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(completion({ content: 'Bonjour', usage: usageOf(100, 50, 40) }));
    const { data, response } = await client(gateway).chat.completions.create(PLAIN).withResponse();
    expect(data.choices[0]?.message.content).toBe('Bonjour');
    expect(data.usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 50 });
    const id = response.headers.get('x-service-request-id') ?? '';
    expect((await gateway.get(`/v1/requests/${id}`)).json()).toMatchObject({
      id,
      project_id: 'default',
      endpoint: 'chat/completions',
      provider: 'mock',
      model: 'test-model',
      asked_model: MODEL,
      status: 200,
      outcome: 'ok',
      flags: [],
      input_tokens: 100,
      cached_input_tokens: 40,
      output_tokens: 50,
    });
  });

  test('streaming: the chunks as they were sent, without a usage chunk', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(sse(['Hel', 'lo', ' ✓']));
    const chunks = [];
    for await (const chunk of await client(gateway).chat.completions.create(STREAM)) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello ✓');
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true);
  });

  test('streaming with include_usage: the usage chunk is the last', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(sse(['Hi'], { usage: usageOf(7, 3) }));
    const asked = { ...STREAM, stream_options: { include_usage: true } };
    const chunks = [];
    for await (const chunk of await client(gateway).chat.completions.create(asked)) chunks.push(chunk);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3 });
  });

  test('a bad key is an AuthenticationError, an unknown model a NotFoundError', async () => {
    const gateway = await startGateway();
    const wrong = client(gateway, 'sk-gw-nobody').chat.completions.create(PLAIN);
    await expect(wrong).rejects.toThrow(OpenAI.AuthenticationError);
    const unknown = client(gateway).chat.completions.create({ ...PLAIN, model: 'nobodys-model' });
    await expect(unknown).rejects.toThrow(OpenAI.NotFoundError);
  });

  test("the upstream's 400 keeps its message, code and param", async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(status(400));
    const refused = client(gateway).chat.completions.create(PLAIN);
    await expect(refused).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      requestID: 'req_upstream',
    });
  });

  test('models can be listed and looked up', async () => {
    const gateway = await startGateway();
    const models = await client(gateway).models.list();
    expect(models.data.map(({ id }) => id)).toContain(MODEL);
    expect(models.data.map(({ id }) => id)).toContain('sandbox/echo');
    expect(await client(gateway).models.retrieve(MODEL)).toMatchObject({
      id: MODEL,
      object: 'model',
      owned_by: 'mock',
    });
    await expect(client(gateway).models.retrieve('mock/none')).rejects.toThrow(OpenAI.NotFoundError);
  });

  test('the sandbox answers without a network', async () => {
    const gateway = await startGateway();
    const asked = { ...PLAIN, model: 'sandbox/echo' };
    const answer = await client(gateway).chat.completions.create(asked);
    expect(answer.model).toBe('sandbox/echo');
    const [record] = await gateway.records();
    expect(record).toMatchObject({
      provider: 'sandbox',
      outcome: 'ok',
      inputTokens: answer.usage?.prompt_tokens,
    });
    expect(record?.costNanoUsd).toBeGreaterThan(0);
  });
});

test.each(['/complete', '/chat/completions', '/v1/chat/completions', '/chat/completions/?a=1'])(
  'POST %s is answered alike, plain and streaming',
  async (path) => {
    const gateway = await startGateway();
    for (const body of [PLAIN, STREAM]) {
      const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
      const given = await request(`${gateway.url}${path}`, { body, headers });
      const expected = await gateway.post(body);
      expect([given.status, given.text()]).toEqual([200, expected.text()]);
      expect(given.header('x-service-model')).toBe('test-model');
    }
    expect(gateway.upstream.requests.map((seen) => seen.body.toString())).toHaveLength(4);
    expect(new Set(gateway.upstream.requests.map((seen) => seen.path.split('?')[0]))).toEqual(
      new Set(['/v1/chat/completions']),
    );
    expect(new Set((await gateway.records()).map((record) => record.endpoint))).toEqual(
      new Set(['chat/completions']),
    );
  },
);

test.each([
  'GET /v1/models',
  'GET /v1/usage',
  'GET /v1/budgets',
  'PUT /v1/gw/budgets',
  'GET /v1/gw/whoami',
  'POST /v1/gw/keys',
  'DELETE /v1/gw/keys/1',
  'GET /v1/webhooks',
  'POST /v1/gw/deliveries/replay-failed',
  'GET /v1/requests/req_1',
  'POST /v1/chat/completions',
  'POST /v1/messages',
  'GET /v1/files',
])('%s needs a key', async (route) => {
  const [method = '', path = ''] = route.split(' ');
  const gateway = await startGateway({ settings: { host: '0.0.0.0' } });
  expect(
    (await request(gateway.origin, { method, path, ...(method !== 'GET' && { body: {} }) })).status,
  ).toBe(401);
  expect(gateway.upstream.requests).toEqual([]);
});

test('paths under /v1/gw are never passed through to a provider', async () => {
  const gateway = await startGateway();
  const answer = await gateway.get('/v1/gw/unknown');
  expect(answer.status).toBe(404);
  expect(answer.json()).toMatchObject({ error: { code: 'unknown_endpoint' } });
  expect(gateway.upstream.requests).toEqual([]);
});

test('GET /v1/gw/whoami tells a key who it is', async () => {
  const clock = createVirtualClock(Date.UTC(2026, 0, 15));
  const gateway = await startGateway({ alone: true, clock });
  expect((await gateway.get('/v1/gw/whoami')).json()).toEqual({
    object: 'whoami',
    version: VERSION,
    timezone: 'UTC',
    now: '2026-01-15T00:00:00.000Z',
    key: { id: 1, project_id: 'default', hint: gateway.key.slice(-4), admin: false, label: null },
  });
});

test.each([
  [{ project_id: 7 }, 400],
  [{ name: 'x' }, 400],
  ['text', 400],
  [{ project_id: 'nobody' }, 404],
])('POST /v1/gw/keys refuses %j with %i', async (body, status) => {
  const gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const answer = await request(`${gateway.origin}/v1/gw/keys`, { body, headers });
  expect(answer.status).toBe(status);
  expect(answer.json()).toMatchObject({ error: { message: expect.any(String), code: expect.any(String) } });
});

test("DELETE /v1/budgets removes a run's budget and not the project's of the same period", async () => {
  const gateway = await startGateway();
  const rolling = { period: 'rolling', windowMs: 3_600_000, capUsd: 1 } as const;
  await gateway.setBudget(rolling);
  const caps = [{ capNanoUsd: 1e9, windowMs: rolling.windowMs }];
  const { paths, project } = gateway;
  await openRun(gateway.db, {
    id: 'run_1',
    projectId: project.id,
    caps,
    lockPath: paths.lock,
    now: Date.now(),
  });
  const headers = { authorization: `Bearer ${gateway.adminKey}` };
  const path = '/v1/budgets/default/rolling?run=run_1';
  const removed = await request(gateway.origin, { method: 'DELETE', path, headers });
  expect(removed.json()).toMatchObject({ id: 'default/rolling@run_1', deleted: true });
  const left = (await gateway.get('/v1/budgets')).json() as { data: { id: string }[] };
  expect(left.data.map(({ id }) => id)).toEqual(['default/rolling']);
  const again = await request(gateway.origin, { method: 'DELETE', path, headers });
  expect(again.status).toBe(404);
});

describe('GET /health', () => {
  test.each([undefined, 'Bearer sk-gw-unknown'])('reports version and instance with key %s', async (key) => {
    const gateway = await startGateway();
    const headers: Record<string, string> = key === undefined ? {} : { authorization: key };
    const { status, ...answer } = await request(`${gateway.origin}/health`, { method: 'GET', headers });
    expect(status).toBe(200);
    expect(answer.json()).toEqual({
      status: 'ok',
      version: VERSION,
      instance_id: gateway.daemon.instanceId,
    });
    expect(answer.header('x-service-request-id')).toMatch(/^req_/);
  });

  test('reports the process and its home to callers with a key of gw', async () => {
    const gateway = await startGateway();
    expect((await gateway.get('/health')).json()).toMatchObject({
      instance_id: gateway.daemon.instanceId,
      pid: process.pid,
      port: gateway.daemon.port,
      home: gateway.paths.home,
    });
  });
});

describe('GET /v1/usage', () => {
  async function used() {
    const gateway = await startGateway();
    gateway.upstream.queue(completion({ usage: usageOf(1000, 500, 200) }), status(500));
    await gateway.post(PLAIN);
    await gateway.post(PLAIN);
    await gateway.post({ ...PLAIN, model: 'nobodys' });
    return gateway;
  }

  test('sums the records by day', async () => {
    const gateway = await used();
    const usage = (await gateway.get('/v1/usage')).json();
    const today = new Date().toISOString().slice(0, 10);
    expect(usage).toMatchObject({
      object: 'usage',
      project_id: 'default',
      to: today,
      timezone: 'UTC',
      group_by: 'day',
    });
    const figures = {
      requests: 3,
      blocked_requests: 0,
      failed_requests: 2,
      input_tokens: 1000,
      cached_input_tokens: 200,
      output_tokens: 500,
      cost_usd: 0.002,
    };
    expect(usage).toMatchObject({ data: [{ day: today, ...figures }], total: figures });
  });

  test('by model and by project; an admin key sees all projects', async () => {
    const gateway = await used();
    const admin = { authorization: `Bearer ${gateway.adminKey}` };
    expect((await gateway.get('/v1/usage?group_by=model')).json()).toMatchObject({
      data: [
        { model: 'mock/test-model', requests: 2 },
        { model: 'nobodys', requests: 1 },
      ],
    });
    expect((await gateway.get('/v1/usage?group_by=project', admin)).json()).toMatchObject({
      project_id: null,
      data: [{ project_id: 'default', requests: 3 }],
    });
  });

  test.each([
    ['from=yesterday', 400, 'from'],
    ['to=2026-02-30', 400, 'to'],
    ['from=2026-02-02&to=2026-02-01', 400, 'from'],
    ['group_by=minute', 400, 'group_by'],
    ['project_id=none', 403, 'project_id'],
  ])('%s is a %i about %s', async (query, expected, param) => {
    const gateway = await startGateway();
    const { status, ...answer } = await gateway.get(`/v1/usage?${query}`);
    expect(status).toBe(expected);
    expect(answer.json()).toMatchObject({ error: { param } });
  });
});
