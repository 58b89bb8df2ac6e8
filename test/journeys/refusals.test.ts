import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { bumpConfigurationEpoch } from '../../src/store/database/write.ts';
import { openConnection, type RawResponse, request, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { reset } from '../support/scripts.ts';

/** The error of an answer, which must have OpenAI's form whatever its cause. */
function errorOf(answer: RawResponse): Record<string, unknown> {
  expect(answer.header('content-type')).toBe('application/json');
  expect(answer.header('x-service-request-id')).toMatch(/^req_[0-9a-z]{11}$/);
  const { error } = answer.json() as { error: Record<string, unknown> };
  expect(Object.keys(error)).toEqual(expect.arrayContaining(['message', 'type', 'param', 'code']));
  expect(String(error.message).length).toBeGreaterThan(10);
  return error;
}

describe('authentication', () => {
  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['an empty bearer', { authorization: 'Bearer ' }],
    ['an unknown key', { authorization: 'Bearer sk-gw-unknown' }],
    ['two words', { authorization: 'Bearer a b' }],
  ])('%s is a 401', async (_name, headers) => {
    const gateway = await startGateway();
    for (const [method, path] of [
      ['POST', '/v1/chat/completions'],
      ['POST', '/v1/complete'],
      ['GET', '/v1/usage'],
      ['GET', '/v1/models'],
      ['GET', '/v1/models/x'],
      ['GET', '/v1/requests/req_00000000000'],
    ] as const) {
      const answer = await request(gateway.origin, {
        method,
        path,
        headers,
        ...(method === 'POST' ? { body: PLAIN } : {}),
      });
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key' });
    }
    expect(gateway.upstream.requests).toHaveLength(0);
  });

  test('the scheme is not case-sensitive', async () => {
    const gateway = await startGateway();
    const answer = await gateway.post(PLAIN, { headers: { authorization: `bearer ${gateway.key}` } });
    expect(answer.status).toBe(200);
  });
});

describe('paths and methods', () => {
  test.each([
    ['GET', '/v1', 404],
    ['POST', '/usage', 404],
    ['GET', '/favicon.ico', 404],
    ['GET', '/v1/models/a/b/c', 404],
    ['GET', '/v1/requests/none', 404],
    ['GET', '/v1/chat/completions', 405],
    ['DELETE', '/v1/complete', 405],
    ['POST', '/v1/usage', 405],
    ['POST', '/health', 405],
    ['OPTIONS', '/v1/models', 405],
    ['PUT', '/v1/models/x', 405],
  ])('%s %s is a %i', async (method, path, expected) => {
    const gateway = await startGateway();
    const headers = { authorization: `Bearer ${gateway.key}` };
    const answer = await request(gateway.origin, { method, path, headers });
    expect(answer.status).toBe(expected);
    errorOf(answer);
    if (expected === 405) expect(answer.header('allow')).toMatch(/^(GET|POST)/);
  });
});

test.each([
  ['/elsewhere', 'the base URL ends in /v1'],
  ['/v1', 'this is the base URL'],
  ['/v1/', 'this is the base URL'],
  ['/v1/usage/of', 'no endpoint at /v1/usage/of'],
])('%s is no endpoint: %s', async (path, hint) => {
  const answer = await (await startGateway()).get(path);
  expect([answer.status, errorOf(answer)]).toMatchObject([
    404,
    { code: 'unknown_endpoint', message: expect.stringContaining(hint) },
  ]);
});

describe('content type', () => {
  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/jsonp'],
    ['text/application/json'],
  ])('%s is a 415', async (type) => {
    const gateway = await startGateway();
    const answer = await gateway.post(JSON.stringify(PLAIN), { headers: { 'content-type': type } });
    expect([answer.status, errorOf(answer)]).toMatchObject([
      415,
      {
        code: 'unsupported_media_type',
        message: expect.stringContaining('send the header "content-type: application/json"'),
      },
    ]);
  });

  test('a missing one is a 415', async () => {
    const gateway = await startGateway();
    const headers = { authorization: `Bearer ${gateway.key}` };
    const answer = await request(`${gateway.url}/complete`, { body: JSON.stringify(PLAIN), headers });
    expect([answer.status, errorOf(answer).code]).toEqual([415, 'unsupported_media_type']);
  });

  test.each([['application/json; charset=utf-8'], ['Application/JSON'], ['application/vnd.api+json']])(
    '%s is JSON',
    async (type) => {
      const gateway = await startGateway();
      const answer = await gateway.post(JSON.stringify(PLAIN), { headers: { 'content-type': type } });
      expect(answer.status).toBe(200);
    },
  );

  test('an unknown content encoding is a 415, and a body that does not match its encoding a 400', async () => {
    const gateway = await startGateway();
    const odd = await gateway.post('x', { headers: { 'content-encoding': 'compress' } });
    expect([odd.status, errorOf(odd).code]).toEqual([415, 'unsupported_content_encoding']);
    const broken = await gateway.post('x', { headers: { 'content-encoding': 'gzip' } });
    expect(broken.status).toBe(400);
  });

  test('an encoded body that exceeds the limit when decoded is a 413', async () => {
    const gateway = await startGateway({ settings: { 'limits.max_body_bytes': 100_000 } });
    const bomb = gzipSync(JSON.stringify({ ...PLAIN, filler: 'x'.repeat(200_000) }));
    expect((await gateway.post(bomb, { headers: { 'content-encoding': 'gzip' } })).status).toBe(413);
    // Two blocks that repeat a byte 128 Ki times.
    const zstdBomb = Buffer.from('28b52ffd00380200102003001020', 'hex');
    expect((await gateway.post(zstdBomb, { headers: { 'content-encoding': 'zstd' } })).status).toBe(413);
  });
});

describe('bodies that are not JSON objects', () => {
  test.each([
    ['nothing', ''],
    ['a word', 'hello'],
    ['an array', '[]'],
    ['a string', '"{}"'],
    ['null', 'null'],
    ['an open object', '{"model":"m"'],
    ['a trailing comma', '{"model":"m",}'],
    ['text after the end', '{"model":"m"} x'],
    ['a single quote', "{'model':'m'}"],
    ['no colon', '{"model" "m"}'],
    ['a comment', '{/**/"model":"m"}'],
    ['a bare key', '{model:"m"}'],
    ['300 open brackets', `{"model":"m","messages":${'['.repeat(300)}${']'.repeat(300)}}`],
    ['a million open brackets', `{"messages":${'['.repeat(1e6)}`],
  ])('%s is a 400 invalid_json', async (_name, body) => {
    const gateway = await startGateway();
    const answer = await gateway.post(body);
    expect([answer.status, errorOf(answer)]).toMatchObject([
      400,
      { type: 'invalid_request_error', code: 'invalid_json' },
    ]);
    expect(gateway.upstream.requests).toHaveLength(0);
  });
});

/** Values of every JSON type. */
const VALUES = {
  null: null,
  true: true,
  zero: 0,
  one: 1,
  negative: -1,
  fraction: 1.5,
  huge: 1e300,
  empty: '',
  text: 'text',
  list: [],
  filled: [1],
  object: {},
};
type ValueName = keyof typeof VALUES;

/** The fields that gw reads, and the values that it accepts for each. */
const TAKES: Record<string, ValueName[]> = {
  model: ['text'],
  messages: ['filled'],
  stream: ['null', 'true'],
  max_tokens: ['null', 'one'],
  max_completion_tokens: ['null', 'one'],
  n: ['null', 'one'],
  temperature: ['null', 'zero', 'one', 'negative', 'fraction', 'huge'],
  service: ['null', 'object'],
  'service.optimize': ['null', 'true'],
  'service.route': ['null', 'true'],
  'service.budget_id': ['null'],
  'service.unknown': [],
  stream_options: ['null', 'object'],
  'stream_options.include_usage': ['null', 'true'],
};

describe.each(Object.entries(TAKES))('%s', (field, taken) => {
  test('is a 400 with its name as param for every wrong value, and accepted for every right one', async () => {
    const gateway = await startGateway();
    const [outer = '', inner] = field.split('.');
    for (const [name, value] of Object.entries(VALUES)) {
      const body = { ...STREAM, [outer]: inner === undefined ? value : { [inner]: value } };
      const answer = await gateway.post(body);
      if (taken.includes(name as ValueName)) {
        // `text` is an unknown model; any other value is accepted.
        expect([name, answer.status]).toEqual([name, field === 'model' ? 404 : 200]);
      } else if (field === 'service.budget_id' && name === 'text') {
        expect([answer.status, errorOf(answer)]).toMatchObject([
          403,
          { code: 'budget_forbidden', param: field },
        ]);
      } else {
        expect([name, answer.status, errorOf(answer).param]).toEqual([name, 400, field]);
      }
    }
  });
});

test.each(['model', 'messages'])('%s is required', async (field) => {
  const gateway = await startGateway();
  const answer = await gateway.post({ ...PLAIN, [field]: undefined });
  expect([answer.status, errorOf(answer)]).toMatchObject([
    400,
    { param: field, code: 'missing_required_parameter' },
  ]);
});

test.each([
  ['model', '{"model":"a","messages":[{}],"model":"b"}'],
  ['model', '{"model":"a","messages":[{}],"mod\\u0065l":"b"}'],
  ['messages', '{"model":"a","messages":[{}],"messages":[{}]}'],
  ['service', '{"service":{},"model":"a","messages":[{}],"service":{}}'],
  ['n', '{"n":1,"model":"a","messages":[{}],"n":9}'],
  ['max_tokens', '{"max_tokens":1,"model":"a","messages":[{}],"max_tokens":9}'],
])('%s twice is a 400: providers differ in which they take', async (param, body) => {
  const gateway = await startGateway();
  const answer = await gateway.post(body);
  expect([answer.status, errorOf(answer)]).toMatchObject([400, { param, code: 'duplicate_parameter' }]);
});

test.each([
  ['x-service-optimize', 'maybe'],
  ['x-service-route', 'balanced'],
  ['x-service-budget', ' '.repeat(2) + 'x'.repeat(301)],
])('the header %s: %s is a 400 with its name as param', async (name, value) => {
  const gateway = await startGateway();
  const answer = await gateway.post(PLAIN, { headers: { [name]: value } });
  expect([answer.status, errorOf(answer).param]).toEqual([400, name]);
});

describe('projects and budgets that a key may not use', () => {
  test('a project key may not spend from another project, an admin key may', async () => {
    const gateway = await startGateway();
    await gateway.newProject('web');
    const body = { ...PLAIN, service: { budget_id: 'web' } };
    const refused = await gateway.post(body);
    expect([refused.status, errorOf(refused)]).toMatchObject([
      403,
      { type: 'permission_error', code: 'budget_forbidden', param: 'service.budget_id' },
    ]);
    const headers = { authorization: `Bearer ${gateway.adminKey}` };
    expect((await gateway.post(body, { headers })).status).toBe(200);
    expect((await gateway.records()).map(({ project, outcome }) => [project, outcome])).toEqual([
      ['default', 'refused'],
      ['web', 'ok'],
    ]);
  });

  test('a budget is named as in lists, and an unknown one is a 404', async () => {
    const gateway = await startGateway({ settings: { attribution: 'off' } });
    const web = await gateway.newProject('web');
    await gateway.setBudget({ period: 'daily', capUsd: 1 }, web);
    await gateway.setBudget({ period: 'monthly', capUsd: 1, repo: '/srv/web@2/shöp' }, web);
    const headers = { authorization: `Bearer ${gateway.adminKey}` };
    const outcome = async (budget_id: string, given = headers) => {
      const answer = await gateway.post(
        { ...PLAIN, max_tokens: 1, service: { budget_id } },
        { headers: given },
      );
      return answer.status === 200 ? 200 : errorOf(answer).code;
    };
    expect(await outcome('web/daily')).toBe(200);
    expect(await outcome('web/monthly@/srv/web@2/shöp')).toBe(200);
    for (const name of [
      'web/monthly',
      'web/daily@/srv/web',
      'web/rolling',
      'web/weekly',
      'web/',
      'nope/daily',
    ]) {
      expect([name, await outcome(name)]).toEqual([name, 'budget_not_found']);
    }
    const own = { authorization: `Bearer ${gateway.key}` };
    expect(await outcome('web/daily', own)).toBe('budget_forbidden');
    expect(await outcome('web/monthly', own)).toBe('budget_forbidden');
    expect(await outcome('nope/daily', own)).toBe('budget_forbidden');
    expect(await outcome('default/daily', own)).toBe('budget_not_found');
    expect((await gateway.records()).filter(({ outcome }) => outcome === 'ok')).toMatchObject([
      { project: 'web' },
      { project: 'web' },
    ]);
  });

  test('a project key may not see the usage, budgets, webhooks or requests of another project', async () => {
    const gateway = await startGateway();
    await gateway.newProject('web');
    const web = { authorization: `Bearer ${await gateway.newKey('web')}` };
    const id = (await gateway.post(PLAIN)).header('x-service-request-id');
    for (const path of ['usage', 'budgets', 'webhooks']) {
      const answer = await gateway.get(`/v1/${path}?project_id=default`, web);
      expect([path, answer.status, errorOf(answer)]).toMatchObject([
        path,
        403,
        { type: 'permission_error', code: 'budget_forbidden', param: 'project_id' },
      ]);
    }
    const record = await gateway.get(`/v1/requests/${id}`, web);
    expect([record.status, errorOf(record).code]).toEqual([404, 'request_not_found']);
    expect((await gateway.get(`/v1/requests/${id}`)).status).toBe(200);
  });

  test('a paused project is refused', async () => {
    const gateway = await startGateway();
    gateway.db.prepare("UPDATE projects SET paused_at = 1 WHERE name = 'default'").run();
    bumpConfigurationEpoch(gateway.db);
    const answer = await gateway.post(PLAIN);
    expect([answer.status, errorOf(answer).code]).toEqual([403, 'project_paused']);
  });
});

describe('large bodies', () => {
  const small = { settings: { 'limits.max_body_bytes': 100_000 } };
  const body = Buffer.from(
    JSON.stringify({ ...PLAIN, messages: [{ role: 'user', content: 'x'.repeat(8_000_000) }] }),
  );

  test('a declared length above the limit is a 413 that the client can read while it is still sending', async () => {
    const gateway = await startGateway(small);
    for (let round = 0; round < 5; round++) {
      const answer = await gateway.post(body);
      expect([answer.status, errorOf(answer).code]).toEqual([413, 'request_too_large']);
    }
  });

  test('a chunked body above the limit is a 413', async () => {
    const gateway = await startGateway(small);
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    const connection = await openConnection(gateway.url);
    const head = { headers: { ...headers, 'transfer-encoding': 'chunked' }, path: '/v1/complete' };
    await connection.send(requestBytes(gateway.url, head));
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65536, 0x20), Buffer.from('\r\n')]);
    void connection.send(Buffer.concat([chunk, chunk, chunk])).catch(() => {});
    const answer = await connection.response();
    expect([answer.status, errorOf(answer).code]).toEqual([413, 'request_too_large']);
    connection.hangUp();
  });

  test.each([1, 20])('a prompt of %i MB is passed on completely', async (megabytes) => {
    const gateway = await startGateway();
    const content = 'ü1'.repeat((megabytes * 1e6) / 3);
    const answer = await gateway.post({
      ...PLAIN,
      model: 'test-model',
      messages: [{ role: 'user', content }],
    });
    expect(answer.status).toBe(200);
    const seen = await gateway.upstream.nextRequest();
    expect(JSON.parse(seen.body.toString()).messages[0].content === content).toBe(true);
  });
});

describe('invalid HTTP', () => {
  test.each([
    ['a bad request line', 'HELLO\r\n\r\n', 400],
    ['a bad header', 'GET /health HTTP/1.1\r\nhost: localhost\r\nbad header\r\n\r\n', 400],
    ['40 kB of headers', `GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    [
      'two lengths',
      'POST /v1/complete HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}',
      400,
    ],
    [
      'a length and chunks',
      'POST /v1/complete HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('%s is answered with an error of the same shape', async (_name, bytes, expected) => {
    const gateway = await startGateway();
    const connection = await openConnection(gateway.url);
    await connection.send(bytes);
    const answer = await connection.response();
    expect(answer.status).toBe(expected);
    expect(errorOf(answer).type).toBe('invalid_request_error');
    await connection.closed;
  });
});

test('an unknown model is refused with the providers that were asked, and recorded', async () => {
  const gateway = await startGateway();
  const answer = await gateway.post({ ...PLAIN, model: 'nobodys-model' });
  const error = errorOf(answer);
  expect([answer.status, error]).toMatchObject([
    404,
    { type: 'not_found_error', code: 'model_not_found', param: 'model' },
  ]);
  expect(error.message).toContain('nobodys-model');
  expect(error.message).toContain('mock (1 model)');
  expect(error.message).toContain('gw models');
  expect(await gateway.records()).toMatchObject([
    { outcome: 'refused', status: 404, askedModel: 'nobodys-model', costNanoUsd: 0 },
  ]);
});

test('an alias of unknown models is refused with those names', async () => {
  const gateway = await startGateway({
    settings: { aliases: { fast: 'faster', faster: 'opnai/a, nobody/b' } },
  });
  const answer = await gateway.post({ ...PLAIN, model: 'fast' });
  expect(errorOf(answer).message).toContain('the model "fast", which stands for opnai/a, nobody/b. Asked:');
  const unknown = await gateway.post({ ...PLAIN, model: 'nobodys-model' });
  expect(errorOf(unknown).message).toContain('the model "nobodys-model". Asked:');
});

test('Expect: 100-continue is answered and not passed on', async () => {
  const gateway = await startGateway();
  const connection = await openConnection(gateway.url);
  const bytes = requestBytes(`${gateway.url}/complete`, {
    body: PLAIN,
    headers: { authorization: `Bearer ${gateway.key}`, expect: '100-continue' },
  });
  const end = bytes.indexOf('\r\n\r\n') + 4;
  await connection.send(bytes.subarray(0, end));
  await connection.send(bytes.subarray(end));
  expect((await connection.response()).status).toBe(200);
  const seen = await gateway.upstream.nextRequest();
  expect(seen.head.headers.map(([name]) => name.toLowerCase())).not.toContain('expect');
  connection.hangUp();
  await until(() => gateway.holds() === 0);
});

describe('bodies', () => {
  const list = (unit: string, count: number) => `[${Array(count).fill(unit).join()}]`;
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `,"f${i}":0`).join('');

  test.each([
    ['lists', `,"stop":${list('[]', 300_000)}`],
    ['objects', `,"stop":${list('{"a":[]}', 150_000)}`],
    ['values', `,"stop":${list('0', 1_100_000)}`],
    ['fields', fields(1_100)],
  ])('with more %s than a million tokens make are a 400', async (_what, more) => {
    const gateway = await startGateway();
    const answer = await gateway.post(`${JSON.stringify(PLAIN).slice(0, -1)}${more}}`);
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({
      code: 'invalid_json',
      message: expect.stringContaining('more than'),
    });
  });

  test('that fill the memory limit cause a 503 for others, and a single one is always accepted', async () => {
    const gateway = await startGateway({
      settings: { 'limits.max_memory_bytes': 2_048, 'admission.max_wait_ms': 20 },
      budget: { period: 'daily', capUsd: 10 },
    });
    const large = { ...PLAIN, user: 'x'.repeat(3_000) };
    const gate = createGate();
    gateway.upstream.queue(reset({ pace: gate.pass }));
    const connection = await gateway.open(large);
    await gateway.upstream.nextRequest();
    const refused = await gateway.post(PLAIN);
    expect(refused.status).toBe(503);
    expect(refused.header('retry-after')).toBe('2');
    expect(errorOf(refused)).toMatchObject({ type: 'api_error', code: 'overloaded' });
    connection.hangUp();
    await gateway.get('/health');
    // An answer that is read without its client keeps its body in memory.
    expect((await gateway.post(PLAIN)).status).toBe(503);
    gate.open();
    await gateway.settled(1);
    for (const _ of [1, 2]) expect((await gateway.post(large)).status).toBe(200);
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });
});
