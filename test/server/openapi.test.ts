import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isObject } from '../../src/json/object.ts';
import { type ApiOptions, routesOf } from '../../src/server/api.ts';
import { GROUPINGS } from '../../src/store/reports/query.ts';
import { completion } from '../support/chat-scripts.ts';
import { request } from '../support/client.ts';
import { COMPRESSIBLE, PLAIN, startAlone, type TestGateway, until } from '../support/gateway.ts';
import { createModelTeam } from '../team/support/model-team.ts';

type Schema = Record<string, unknown>;

interface Described {
  parameters: { name: string; in: string }[];
  responses: Record<string, { content: { 'application/json': { schema: Schema } } }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Described>>;
  components: { schemas: { error: Schema } };
}

/** What the test uses of answers. */
interface Body extends Record<string, unknown> {
  data: Record<string, unknown>[];
}

/** Endpoints with the interface of a provider, the checks that gw is alive, and its metrics. */
const NOT_OWN =
  /^\w+ (\/v1beta1?\/|\/anthropic\/v1\/|\/openai\/|\/v1\/(complete|chat|completions|embeddings|responses|messages|models|projects|publishers)(\/|$)|\/model\/|\/health$|\/metrics$|\/$|\/assets\/|\/log(in|out)$|\/api\/hello$)/;

const EARLY = '2020-01-01T00:00:00Z';
const LATE = '2100-01-01T00:00:00Z';

async function documentOf(gateway: TestGateway): Promise<Document> {
  const answer = await ask(gateway, 'GET', '/v1/gw/openapi.json');
  return answer.body as Document;
}

async function ask(
  gateway: TestGateway,
  method: string,
  path: string,
  { body, key = gateway.adminKey }: { body?: unknown; key?: string } = {},
) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const parts = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await request(`${gateway.origin}${path}`, parts);
  return { status: answer.status, body: answer.json() as unknown };
}

const operationsOf = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      route: `${method.toUpperCase()} ${path}`,
      described,
    })),
  );

/** The schema without room for fields that it does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isObject(schema)) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, each]) => [name, closed(each)]));
  return isObject(schema.properties) ? { ...inside, additionalProperties: false } : inside;
}

test('the document has exactly the routes that there are', async () => {
  const gateway = await startAlone();
  const document = await documentOf(gateway);
  // The handlers are not called.
  const options = { gateway: {}, db: gateway.db, webhooks: {} } as unknown as ApiOptions;
  const own = Object.keys(routesOf(options)).filter((route) => !NOT_OWN.test(route));
  expect(document.openapi).toBe('3.1.0');
  expect(
    operationsOf(document)
      .map(({ route }) => route)
      .sort(),
  ).toEqual(own.sort());
});

test('every route answers as the document says, field for field', async () => {
  const receiver = createServer((_, response) => void response.writeHead(204).end());
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const team = createModelTeam({ capUsd: 5 });
  const gateway = await startAlone({
    settings: { 'requests.keep_bodies': 'on', 'optimizer.holdout': 0 },
    budget: { period: 'daily', capUsd: 5 },
    openTeam: team.openTeam,
  });
  const document = await documentOf(gateway);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const operations = new Map(operationsOf(document).map(({ route, described }) => [route, described]));
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();

  /** Calls a route and validates its answer; `values` fill the path. */
  async function call(
    route: string,
    values: Record<string, unknown> = {},
    more: { query?: string; body?: unknown } = {},
  ) {
    const [method = '', pattern = ''] = route.split(' ');
    const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
    const { status, body } = await ask(gateway, method, `${path}${more.query ?? ''}`, more);
    const schema = operations.get(route)?.responses[status]?.content['application/json'].schema;
    expect([route, status, schema !== undefined, body]).toEqual([route, status, true, body]);
    const validate = validators.get(route) ?? ajv.compile(closed(schema) as Schema);
    validators.set(route, validate);
    expect([route, validate(body) ? [] : validate.errors, body]).toEqual([route, [], body]);
    return body as Body;
  }

  const start = await call('GET /v1/gw/tail');
  gateway.upstream.queue(completion());
  const headers = { 'user-agent': 'codex_cli/0.1.0', session_id: 'thread-1' };
  const answer = await gateway.post(PLAIN, { headers });
  const id = answer.header('x-service-request-id') ?? '';
  await gateway.post('{');
  await gateway.settled(2);
  const tail = await call('GET /v1/gw/tail', {}, { query: `?cursor=${start.next_cursor}` });
  expect(tail.data).toHaveLength(2);

  await call('GET /v1/gw/openapi.json');
  await call('GET /v1/gw/whoami');
  for (const group of [...GROUPINGS, 'agent,model', 'day,session']) {
    await call('GET /v1/gw/usage', {}, { query: `?group_by=${group}` });
    await call('GET /v1/usage', {}, { query: `?group_by=${group}` });
  }
  const filtered =
    '?month=2026-01&agent=codex&session=thread-1&status=failed&key=1&model=gpt-5&repo=/srv/shop';
  await call('GET /v1/gw/usage', {}, { query: filtered });
  const sessions = await call('GET /v1/gw/sessions', {}, { query: '?agent=codex' });
  expect(sessions.data).toMatchObject([
    { id: 'thread-1', agent: 'codex', agent_version: '0.1.0', requests: 1 },
  ]);
  expect(await call('GET /v1/gw/sessions/{id}', { id: 'thread-1' })).toEqual(sessions);
  const marked = gateway.db.prepare(
    "UPDATE sessions SET runaway = 'x', runaway_at = 1 WHERE external_id = 'thread-1'",
  );
  expect(marked.run().changes).toBe(1);
  await call('POST /v1/gw/sessions/{id}/resume', { id: 'thread-1' }, { body: {} });
  await call('GET /v1/gw/cache', {}, { query: `?session=thread-1&since=${EARLY}&limit=5` });
  await call('GET /v1/gw/usage/trends', {}, { query: '?group_by=model' });
  await call('GET /v1/gw/usage/trends', {}, { query: '?group_by=model&from=2020-01-01' });
  const page = await call('GET /v1/gw/requests', {}, { query: '?limit=1' });
  await call('GET /v1/gw/requests', {}, { query: `?cursor=${page.next_cursor}` });
  const calls = await call('GET /v1/gw/calls', {}, { query: `?agent=codex&since=${EARLY}&until=${LATE}` });
  expect(calls.data).toMatchObject([{ id, upstream_message_id: expect.any(String) }]);
  const ofUnknown = await call('GET /v1/gw/calls', {}, { query: `?agent=&since=${EARLY}&until=${LATE}` });
  expect(ofUnknown.data).toHaveLength(1);
  const long = (await gateway.post(COMPRESSIBLE)).header('x-service-request-id');
  await until(async () => (await ask(gateway, 'GET', `/v1/gw/requests/${long}/bodies`)).status === 200);
  await call('GET /v1/gw/requests/{id}/bodies', { id: long });
  await call('GET /v1/gw/requests/{id}', { id });
  await call('GET /v1/requests/{id}', { id });
  await call('POST /v1/requests/{id}/feedback', { id }, { body: { good: true } });

  await call('PUT /v1/gw/budgets', {}, { body: { cap_usd: 2, period: 'monthly', alert_percent: 50 } });
  await call('PUT /v1/budgets', {}, { body: { cap_usd: 0, period: 'rolling', window_seconds: 3600 } });
  await call(
    'POST /v1/gw/budgets/raise',
    {},
    { body: { budget_id: 'default/monthly', amount_usd: 1.5, for_seconds: 3600 } },
  );
  await call('GET /v1/gw/budgets');
  await call('GET /v1/gw/budgets/backtest', {}, { query: '?cap_usd=0.5&period=weekly' });
  await call('GET /v1/gw/budgets/suggest');
  await call('GET /v1/budgets');
  await call('DELETE /v1/gw/budgets/{project}/{period}', { project: 'default', period: 'monthly' });
  await call('DELETE /v1/budgets/{project}/{period}', { project: 'default', period: 'rolling' });

  await call('POST /v1/gw/projects', {}, { body: { project_id: 'web' } });
  await call('PATCH /v1/gw/projects/{project}', { project: 'web' }, { body: { paused: true } });
  await call('PATCH /v1/gw/projects', {}, { body: { paused: true, cut: true } });
  await call('PATCH /v1/gw/projects', {}, { body: { paused: false } });
  await call('DELETE /v1/gw/requests', {}, { query: '?project_id=web' });
  await call('DELETE /v1/gw/replays', {}, { query: '?project_id=web' });
  await call('GET /v1/gw/projects');
  const key = await call(
    'POST /v1/gw/keys',
    {},
    { body: { project_id: 'web', label: 'ci', models: ['a'], rpm: 5 } },
  );
  await call('POST /v1/gw/keys/{id}/rotate', { id: key.id }, { body: {} });
  await call('DELETE /v1/gw/keys/{id}', { id: key.id });
  await call('GET /v1/gw/keys', {}, { query: '?revoked=true' });
  await call('DELETE /v1/gw/projects/{project}', { project: 'web' });

  const price = {
    model: 'mine',
    input_usd_per_million: 0.3,
    output_usd_per_million: 2.5,
    usd_per_request: 0.001,
  };
  await call('PUT /v1/gw/prices', {}, { body: { provider: 'openai', ...price } });
  await call('GET /v1/gw/prices');
  await call('GET /v1/gw/prices/in-force', {}, { query: '?model=openai/mine' });
  await call('GET /v1/gw/prices/in-force', {}, { query: '?model=gpt-4.1' });
  await call('DELETE /v1/gw/prices', {}, { query: '?provider=openai&model=mine' });

  await call('GET /v1/gw/providers');
  await call('GET /v1/gw/status');
  await call('GET /v1/gw/team');
  await call('GET /v1/gw/limits');
  await call('GET /v1/gw/limits/usage', {}, { query: `?since=${EARLY}` });
  await call('GET /v1/gw/bounds');

  const asking = { period: 'monthly', cap_usd: 0.000001, on_limit: 'ask' };
  await call('PUT /v1/gw/budgets', {}, { body: asking });
  const asked = [gateway.post(PLAIN), gateway.post(PLAIN)];
  await until(async () => (await call('GET /v1/gw/asks')).data.length === asked.length);
  const { data: open } = await call('GET /v1/gw/asks', {}, { query: '?project_id=default' });
  await call('GET /v1/gw/dashboard');
  await call('POST /v1/gw/asks/{id}/approve', { id: open[0]?.id }, { body: { once: true } });
  await call('POST /v1/gw/asks/{id}/deny', { id: open[1]?.id });
  expect((await Promise.all(asked)).map(({ status }) => status).sort()).toEqual([200, 402]);
  await call('DELETE /v1/gw/budgets/{project}/{period}', { project: 'default', period: 'monthly' });

  const webhook = await call('POST /v1/webhooks', {}, { body: { url: `http://127.0.0.1:${port}/hook` } });
  // Less than was spent, so that events are due.
  await call('PUT /v1/gw/budgets', {}, { body: { cap_usd: 0.000001 } });
  await until(async () => {
    const { data } = await call('GET /v1/gw/deliveries', {}, { query: '?status=delivered' });
    return data.length > 0;
  });
  const { data: ended } = await call('GET /v1/gw/deliveries', {}, { query: '?status=delivered' });
  await call('POST /v1/deliveries/{id}/replay', { id: ended[0]?.id });
  await call('GET /v1/webhooks');
  await call('GET /v1/webhooks/{id}', webhook);
  await call('PATCH /v1/webhooks/{id}', webhook, { body: { events: ['budget.reset'] } });
  await call('POST /v1/webhooks/{id}/test', webhook);
  await call('POST /v1/webhooks/{id}/rotate', webhook);
  await call('GET /v1/webhooks/{id}/deliveries', webhook);
  await call('GET /v1/deliveries');
  await call('GET /v1/gw/deliveries', {}, { query: '?status=failed&since=2026-01-01T00:00:00Z' });
  await call('POST /v1/gw/deliveries/replay-failed');
  const { version, data } = await call('GET /v1/gw/dashboard');
  expect(data).toMatchObject({ budgets: [{ id: 'default/daily' }] });
  // Once deliveries and the archive have nothing more to write, nothing is new.
  let seen = version;
  await until(async () => {
    const view = await call('GET /v1/gw/dashboard', {}, { query: `?unless=${seen}` });
    const isSame = view.version === seen && view.data === null;
    seen = view.version;
    return isSame;
  });
  await call('DELETE /v1/webhooks/{id}', webhook);

  team.join(gateway, 1);
  for (const groupBy of ['day', 'key'])
    await call('GET /v1/gw/team/usage', {}, { query: `?group_by=${groupBy}` });
  await call('GET /v1/gw/team');

  expect([...operations.keys()].filter((route) => !validators.has(route))).toEqual([]);
}, 180_000);

describe('the routes of /v1/gw', () => {
  test('refuse unknown parameters and bad values, and name them', async () => {
    const gateway = await startAlone();
    const reading = operationsOf(await documentOf(gateway)).filter(
      ({ route, described }) =>
        route.startsWith('GET /v1/gw/') && described.parameters.some((each) => each.in === 'query'),
    );
    expect(reading.length).toBeGreaterThan(8);
    for (const { route } of reading) {
      const { status, body } = await ask(gateway, 'GET', `${route.slice(4)}?modell=gpt-5`);
      expect([route, status, body]).toMatchObject([
        route,
        400,
        { error: { param: 'modell', code: 'unknown_parameter' } },
      ]);
    }
    for (const [query, param, message] of [
      ['usage?from=yesterday', 'from', '"from" is "yesterday": use a date of the form YYYY-MM-DD'],
      ['usage?from=2026-02-01&to=2026-01-01', 'from', '"from" (2026-02-01) is after "to" (2026-01-01)'],
      ['usage?group_by=colour', 'group_by', '"group_by" is "colour"'],
      ['usage?group_by=day,day', 'group_by', 'or two of them such as agent,model'],
      ['usage?month=2026-13', 'month', '"month" is "2026-13": use a month of the form YYYY-MM'],
      ['usage?month=2026-01&to=2026-01-03', 'month', 'use it without "from" and "to"'],
      ['usage?status=strange', 'status', 'status "strange" is neither an HTTP status nor'],
      ['requests?limit=0', 'limit', '"limit" is "0"'],
      ['requests?limit=1001', 'limit', '"limit" is "1001"'],
      ['requests?limit=many', 'limit', 'use a whole number from 1 to 1000'],
      ['requests?since=1h', 'since', 'use an ISO 8601 time such as 2026-01-31T12:00:00Z'],
      ['requests?cursor=x', 'cursor', '"cursor" is "x"'],
      ['requests?status=strange', 'status', 'status "strange" is neither an HTTP status'],
      ['tail?status=strange', 'status', 'neither an HTTP status'],
      ['keys?revoked=perhaps', 'revoked', '"revoked" is "perhaps"'],
      ['prices/in-force', 'model', 'parameter "model" is missing'],
    ] as const) {
      const { status, body } = await ask(gateway, 'GET', `/v1/gw/${query}`);
      expect([query, status, body]).toMatchObject([
        query,
        400,
        { error: { param, message: expect.stringContaining(message) } },
      ]);
    }
    const wrong = await ask(gateway, 'POST', '/v1/gw/keys', { body: { project: 'web' } });
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: { param: 'project', code: 'unknown_field' } },
    });
    expect((await ask(gateway, 'GET', '/v1/gw/nothing')).status).toBe(404);
  });

  test('show a project key its own project, and let only an admin key change anything', async () => {
    const gateway = await startAlone();
    await gateway.newProject('web');
    const key = await gateway.newKey('web');
    for (const path of ['usage', 'requests', 'budgets', 'keys', 'deliveries', 'tail']) {
      for (const project of ['default', 'nobody']) {
        const { status, body } = await ask(gateway, 'GET', `/v1/gw/${path}?project_id=${project}`, { key });
        expect([path, status, body]).toMatchObject([path, 403, { error: { code: 'budget_forbidden' } }]);
      }
    }
    expect(await ask(gateway, 'GET', '/v1/gw/projects', { key })).toMatchObject({
      body: { data: [{ project_id: 'web' }] },
    });
    expect(await ask(gateway, 'GET', '/v1/gw/dashboard', { key })).toMatchObject({
      body: { data: { projects: [{ name: 'web' }] } },
    });
    for (const [method, path] of [
      ['PUT', 'budgets'],
      ['POST', 'budgets/raise'],
      ['DELETE', 'requests?project_id=web'],
      ['DELETE', 'budgets/web/daily'],
      ['POST', 'keys'],
      ['POST', 'keys/1/rotate'],
      ['DELETE', 'keys/1'],
      ['POST', 'projects'],
      ['PATCH', 'projects'],
      ['PATCH', 'projects/web'],
      ['DELETE', 'projects/web'],
      ['PUT', 'prices'],
      ['DELETE', 'prices?model=x'],
    ] as const) {
      const { status, body } = await ask(gateway, method, `/v1/gw/${path}`, { key });
      expect([method, path, status, body]).toMatchObject([
        method,
        path,
        403,
        { error: { code: 'admin_required' } },
      ]);
    }
  });
});
