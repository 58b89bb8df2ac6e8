import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openConnection, request, requestBytes } from '../support/client.ts';
import { PLAIN, STREAM, startGateway } from '../support/gateway.ts';

const BYTES = Buffer.from(JSON.stringify({ ...PLAIN, model: 'mock/test-model' }));

describe('spellings of the URL', () => {
  test.each([
    ['/chat/completions'],
    ['/v1/chat/completions/'],
    ['/v1//chat/completions'],
    ['//v1/chat/completions'],
    ['/v1/v1/chat/completions'],
    ['/v1/chat/completions?api-version=1'],
  ])('%s is the endpoint', async (path) => {
    const gateway = await startGateway();
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    const answer = await request(gateway.origin + path, { body: PLAIN, headers });
    expect(answer.status).toBe(200);
    expect(gateway.upstream.requests[0]?.path.split('?')[0]).toBe('/v1/chat/completions');
  });

  test.each([['/models'], ['/v1/models/'], ['/v1//models']])('%s lists the models', async (path) => {
    const gateway = await startGateway();
    const { data } = (await gateway.get(path)).json() as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toContain('mock/test-model');
  });

  test('other endpoints are passed through without /v1 too', async () => {
    const gateway = await startGateway();
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    await request(`${gateway.origin}/moderations`, { body: { input: 'x' }, headers });
    expect(gateway.upstream.requests[0]?.path).toBe('/v1/moderations');
  });

  test('a model is found by a name with slashes, encoded or not', async () => {
    const gateway = await startGateway();
    gateway.upstream.models(async (exchange) => {
      const list = { object: 'list', data: [{ id: 'vendor/model' }] };
      await exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(list));
    });
    for (const id of ['mock/vendor/model', 'mock%2Fvendor%2Fmodel', 'vendor/model']) {
      expect((await gateway.get(`/v1/models/${id}`)).json()).toMatchObject({ id: decodeURIComponent(id) });
    }
  });
});

test.each([
  ['authorization', 'Bearer '],
  ['x-api-key', ''],
  ['api-key', ''],
])('the key may come as %s, and stays here', async (name, prefix) => {
  const gateway = await startGateway();
  const headers = { [name]: prefix + gateway.key, 'content-type': 'application/json' };
  expect((await request(`${gateway.url}/chat/completions`, { body: PLAIN, headers })).status).toBe(200);
  expect(JSON.stringify(gateway.upstream.requests[0]?.head.headers)).not.toContain(gateway.key);
});

/** A zstd frame that stores a short body as it is. */
function storedZstd(body: Buffer): Buffer {
  const header = (body.length << 3) | 1;
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38, header & 255, header >> 8, header >> 16]),
    body,
  ]);
}

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', storedZstd],
] as const)('a body as %s goes on decoded', async (encoding, encode) => {
  const gateway = await startGateway();
  const answer = await gateway.post(encode(BYTES), { headers: { 'content-encoding': encoding } });
  expect(answer.status).toBe(200);
  const [sent] = gateway.upstream.requests;
  expect(JSON.parse(String(sent?.body))).toEqual({ ...PLAIN, model: 'test-model' });
  expect(sent?.head.headers.map(([name]) => name.toLowerCase())).not.toContain('content-encoding');
});

test('a zstd body that is cut is refused, and one in two frames goes on whole', async () => {
  const gateway = await startGateway();
  const post = (body: Buffer) => gateway.post(body, { headers: { 'content-encoding': 'zstd' } });
  for (const cut of [storedZstd(BYTES).subarray(0, -3), storedZstd(BYTES).subarray(0, 7)]) {
    const { status, body } = await post(cut);
    expect([status, String(body)]).toEqual([400, expect.stringContaining('is not valid zstd')]);
  }
  expect(gateway.upstream.requests).toHaveLength(0);
  await post(Buffer.concat([storedZstd(BYTES.subarray(0, 9)), storedZstd(BYTES.subarray(9))]));
  expect(JSON.parse(String(gateway.upstream.requests[0]?.body))).toEqual({ ...PLAIN, model: 'test-model' });
});

test('HEAD is answered like GET, without a body', async () => {
  const gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.key}` };
  const answer = await fetch(`${gateway.url}/models`, { method: 'HEAD', headers });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
  expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(100);
});

test.each([['/'], ['/api/hello']])('HEAD %s is answered without a key', async (path) => {
  const gateway = await startGateway();
  const answer = await fetch(gateway.origin + path, { method: 'HEAD' });
  expect([answer.status, await answer.text()]).toEqual([200, '']);
});

test('GET /api/hello is answered without a key', async () => {
  const gateway = await startGateway();
  const answer = await request(`${gateway.origin}/api/hello`, { method: 'GET' });
  expect([answer.status, answer.json()]).toEqual([200, { message: 'hello' }]);
});

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

test.each([['/v1/responses'], ['/v1/realtime?model=gpt-realtime'], ['/']])(
  'a WebSocket at %s is a 426, and the connection takes the next request',
  async (path) => {
    const gateway = await startGateway();
    const connection = await openConnection(gateway.url);
    await connection.send(requestBytes(gateway.origin, { method: 'GET', path, headers: HANDSHAKE }));
    const refused = await connection.response();
    expect([refused.status, refused.header('upgrade')]).toEqual([426, 'HTTP/1.1']);
    expect(refused.json()).toMatchObject({
      error: { code: 'websocket_unsupported', message: expect.stringContaining('POST /v1/responses') },
    });
    const headers = { authorization: `Bearer ${gateway.key}` };
    await connection.send(requestBytes(`${gateway.url}/chat/completions`, { body: PLAIN, headers }));
    expect((await connection.response()).status).toBe(200);
    connection.hangUp();
    expect(gateway.upstream.requests).toHaveLength(1);
  },
);

test('an offer of HTTP/2 is ignored', async () => {
  const gateway = await startGateway();
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
  expect((await gateway.post(PLAIN, { headers })).status).toBe(200);
});

test.each([
  ['plain', PLAIN, '"content"'],
  ['streamed', STREAM, 'data: [DONE]'],
])('HTTP/1.0 gets its answer up to the end of the connection, %s', async (_name, body, expected) => {
  const gateway = await startGateway();
  const connection = await openConnection(gateway.url);
  const bytes = JSON.stringify(body);
  const head = [
    'POST /v1/chat/completions HTTP/1.0',
    'Host: localhost',
    `Authorization: Bearer ${gateway.key}`,
    'Content-Type: application/json',
    `Content-Length: ${bytes.length}`,
  ];
  await connection.send(`${head.join('\r\n')}\r\n\r\n${bytes}`);
  const answer = await connection.response();
  expect(answer.status).toBe(200);
  expect(answer.header('transfer-encoding')).toBeUndefined();
  expect(answer.text()).toContain(expected);
});

test("the client's own headers reach the provider", async () => {
  const gateway = await startGateway();
  const headers = {
    'user-agent': 'OpenAI/JS 6.49.0',
    'x-stainless-lang': 'js',
    'x-stainless-retry-count': '0',
  };
  await gateway.post(PLAIN, { headers });
  const sent = Object.fromEntries(gateway.upstream.requests[0]?.head.headers ?? []);
  expect(sent).toMatchObject(headers);
});

test.each([
  ['/v1/chat/completions', 'messages'],
  ['/v1/responses', 'input'],
])('%s takes a content part that is called like a member of all objects for unknown', async (path, field) => {
  const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
  for (const type of ['constructor', '__proto__', 'toString']) {
    const content = [{ type, text: 'Hi' }];
    const answer = await request(gateway.origin, {
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: { model: 'mock/test-model', max_tokens: 9, [field]: [{ role: 'user', content }] },
    });
    expect([type, answer.status, answer.text()]).toMatchObject([type, 402, expect.any(String)]);
  }
});
