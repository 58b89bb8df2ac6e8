import { beforeEach, describe, expect, test } from 'vitest';
import { type RequestParts, request } from '../support/client.ts';
import { startAlone, type TestGateway } from '../support/gateway.ts';
import type { Script } from '../support/scripts.ts';

/** A provider that answers each creation with a new id, and everything else with 200. */
function storage(): Script {
  let count = 0;
  return async (exchange) => {
    const { method, path } = exchange.request;
    const body = (await exchange.body).toString();
    const kind = /^\/v1\/([a-z_]+)/.exec(path)?.[1] ?? 'object';
    count++;
    const id = `${kind}-${String(count).padStart(4, '0')}AbCdEfGhIjKl`;
    const isStream = body.includes('"stream":true');
    const answer = method === 'POST' ? { id, object: kind, status: 'completed', output: [] } : { ok: path };
    if (!isStream) return exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(answer));
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    const event = (type: string, value: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`;
    await exchange.chunk(
      event('response.output_text.delta', { item_id: `msg_${count}_0000000`, delta: 'Hi' }),
    );
    await exchange.chunk(
      event('response.completed', {
        response: { ...answer, output: [{ type: 'message', id: `msg_${count}_0000000`, content: [] }] },
      }),
    );
    await exchange.finish();
  };
}

let gateway: TestGateway;
let other = '';
const MODEL = 'mock/test-model';

async function ask(key: string, method: string, path: string, body?: unknown, parts: RequestParts = {}) {
  const answer = await request(gateway.origin, {
    method,
    path,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...parts.headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = answer.text();
  const id = /"id":"([a-z_]+-\d{4}\w+)"/.exec(text)?.[1] ?? '';
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { status: answer.status, id, code };
}
/** Anthropic's paths would look for a provider of its API. */
const AT = { headers: { 'x-service-provider': 'mock' } };
const NOT_FOUND = { status: 404, code: 'object_not_found' };

beforeEach(async () => {
  gateway = await startAlone();
  gateway.upstream.script(storage());
});

describe('with several projects, an object of one', () => {
  beforeEach(async () => {
    await gateway.newProject('web');
    other = await gateway.newKey('web');
  });

  test('is found by keys of its project and by admin keys', async () => {
    // Some of these are no endpoint of the provider's document.
    gateway.configure({ 'passthrough.unlisted': 'allow' });
    for (const kind of [
      'files',
      'batches',
      'vector_stores',
      'conversations',
      'assistants',
      'messages/batches',
    ]) {
      const { id } = await ask(other, 'POST', `/v1/${kind}`, {}, AT);
      for (const [method, path] of [
        ['GET', `/v1/${kind}/${id}`],
        ['GET', `/v1/${kind}/${id}/content?limit=2`],
        ['POST', `/v1/${kind}/${id}/cancel`],
        ['DELETE', `/v1/${kind}/${id}`],
      ] as const) {
        expect([path, await ask(gateway.key, method, path, undefined, AT)]).toMatchObject([path, NOT_FOUND]);
        expect([path, (await ask(other, method, path, undefined, AT)).status]).toEqual([path, 200]);
        expect([path, (await ask(gateway.adminKey, method, path, undefined, AT)).status]).toEqual([
          path,
          200,
        ]);
      }
    }
  });

  test.each([
    [
      'client_metadata of Codex',
      { client_metadata: { thread_id: '01a218d8-9c3e-7d02-8a55-aaaaaaaaaaaa', run_id: 'r' } },
    ],
    ['metadata', { metadata: { thread_id: 'mine-1', conversation: 'c-1', file_id: 'f-1' } }],
    ["metadata of another gateway's clients", { litellm_metadata: { agent_id: 'planner', batch_id: '7' } }],
    ['metadata of a message', { input: [{ role: 'user', content: 'hi', metadata: { run_id: 'run-77' } }] }],
    [
      'identifiers of a user and a session',
      { user: 'u-1', safety_identifier: 's-1', prompt_cache_key: 'thread-1' },
    ],
  ])("is no client's note about itself: %s", async (_, note) => {
    const body = { model: MODEL, input: 'hi', ...note };
    expect(await ask(other, 'POST', '/v1/responses', body)).toMatchObject({ status: 200 });
    expect(JSON.parse(String(gateway.upstream.requests.at(-1)?.body))).toMatchObject(note);
    const { id } = await ask(gateway.key, 'POST', '/v1/files', {}, AT);
    const named = { ...body, tools: [{ type: 'file_search', vector_store_ids: [id] }] };
    expect(await ask(other, 'POST', '/v1/responses', named)).toMatchObject(NOT_FOUND);
  });

  test.each([
    { type: 'image_generation_call' },
    { type: 'message', role: 'assistant', status: 'completed' },
    { type: 'reasoning', summary: [] },
    {},
  ])('is found by no item that is its id alone: %j', async (item) => {
    await ask(other, 'POST', '/v1/responses', { model: MODEL, input: 'hi', stream: true });
    const body = { model: MODEL, input: [{ ...item, id: 'msg_1_0000000' }] };
    expect(await ask(gateway.key, 'POST', '/v1/responses', body)).toMatchObject(NOT_FOUND);
    expect((await ask(other, 'POST', '/v1/responses', body)).status).toBe(200);
  });

  test('is found by no voice, no address and no line behind another', async () => {
    const { id } = await ask(other, 'POST', '/v1/files', {});
    const speech = { model: MODEL, input: 'hi', voice: { id } };
    expect(await ask(gateway.key, 'POST', '/v1/audio/speech', speech)).toMatchObject(NOT_FOUND);
    const address = `https://api.openai.com/v1/files/${id}/content`;
    const asked = { model: MODEL, input: 'hi', tools: [{ type: 'mcp', server_url: address, x_id: 1 }] };
    expect(await ask(gateway.key, 'POST', '/v1/responses', asked)).toMatchObject(NOT_FOUND);
    const lines = `[]\n{"body":{"input_file_id":"${id}"}}`;
    for (const content of [Buffer.from(lines), Buffer.from(lines, 'utf16le')]) {
      const form = Buffer.concat([
        Buffer.from('--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'),
        content,
        Buffer.from('\r\n--b--\r\n'),
      ]);
      const parts = { headers: { 'content-type': 'multipart/form-data; boundary=b' } };
      expect(await ask(gateway.key, 'POST', '/v1/files', form, parts)).toMatchObject(NOT_FOUND);
    }
  });

  test('is looked for among 5,000 texts at most', async () => {
    const ids = Array.from({ length: 5_001 }, (_, i) => `item-${i}-abcdefgh`);
    const body = { model: MODEL, input: ids.map((id) => ({ type: 'item_reference', id })) };
    expect(await ask(gateway.key, 'POST', '/v1/responses', body)).toMatchObject({
      status: 400,
      code: 'too_many_ids',
    });
  });

  test('is found by no other spelling', async () => {
    const { id } = await ask(other, 'POST', '/v1/files', {});
    const encoded = id.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`);
    const sent = gateway.upstream.requests.length;
    for (const path of [
      `/v1/files/${id.toUpperCase()}`,
      `/v1/files/${encoded}`,
      `/v1/files/${encoded.replaceAll('%', '%25')}`,
      `/v1//files//${id}//content`,
      `/v1/files/${id}/`,
      `/v1/v1/files/${id}`,
      `/files/${id}`,
      `/v1/files/./${id}`,
      `/v1/files/x/../${id}`,
      `/v1/files/x/%2e%2e/${id}`,
      `/v1/files/${id};a=b`,
      `/v1/files/${id}%00`,
      `/v1/files/${id}%20`,
      `/v1/FILES/${id}`,
      `/v1/anything/${id}`,
      `/v1/files/content/${id}`,
      `/v1/files/${id}?expand=content&x=${id}`,
      `/v1/files?after=${id}`,
    ]) {
      const answer = await ask(gateway.key, 'GET', path);
      expect([path, [400, 403, 404].includes(answer.status)]).toEqual([path, true]);
    }
    expect(gateway.upstream.requests.length).toBe(sent);
  });

  test('can be named in no body', async () => {
    const response = await ask(other, 'POST', '/v1/responses', { model: MODEL, input: 'Hi' });
    const file = await ask(other, 'POST', '/v1/files', {});
    const sent = gateway.upstream.requests.length;
    const bodies: [string, object][] = [
      ['/v1/responses', { input: 'x', previous_response_id: response.id }],
      ['/v1/responses', { input: 'x', previous_response_id: response.id.toUpperCase() }],
      ['/v1/responses', { input: 'x', conversation: response.id }],
      ['/v1/responses', { input: 'x', conversation: { id: response.id } }],
      ['/v1/responses', { input: 'x', prompt: { id: response.id } }],
      ['/v1/responses', { input: [{ type: 'item_reference', id: response.id }] }],
      ['/v1/responses', { input: [{ id: response.id }] }],
      ['/v1/responses', { input: [{ type: null, id: response.id }] }],
      ['/v1/responses', { input: [{ type: 'reasoning', id: response.id, summary: [] }] }],
      ['/v1/responses', { input: [{ type: 'file_search_call', id: response.id, queries: ['x'] }] }],
      ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', file_id: file.id }] }] }],
      ['/v1/responses', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: [file.id] }] }],
      ['/v1/responses', { input: 'x', tools: [{ type: 'code_interpreter', container: file.id }] }],
      ['/v1/responses', { input: 'x', tools: [{ type: 'new', a: [{ b: { c_id: file.id } }] }] }],
      [
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file.id } }] }] },
      ],
      ['/v1/batches', { input_file_id: file.id }],
      ['/v1/batches', { metadata: { a: [[{ b: ` ${file.id} ` }]] } }],
      ['/v1/vector_stores', { file_ids: ['x', file.id] }],
      ['/v1/threads/runs', { assistant_id: file.id }],
      ['/v1/endpoint-of-tomorrow', { deep: { deeper: [{ attachment: file.id }] } }],
    ];
    for (const [path, fields] of bodies) {
      const answer = await ask(gateway.key, 'POST', path, { model: MODEL, ...fields });
      expect([path, fields, answer]).toMatchObject([path, fields, NOT_FOUND]);
    }
    const escaped = `{"model":"${MODEL}","input":"x","previous\\u005fresponse_id":"\\u0072${response.id.slice(1)}"}`;
    expect(await ask(gateway.key, 'POST', '/v1/responses', Buffer.from(escaped))).toMatchObject(NOT_FOUND);
    const own = await ask(gateway.key, 'POST', '/v1/responses', { model: MODEL, input: 'Hi' });
    const ids = '"vector_store_ids"';
    const twice = `{"model":"${MODEL}","input":"x","tools":[{"type":"file_search",${ids}:["${file.id}"],${ids}:["${own.id}"]}]}`;
    const marked = `\ufeff{"model":"${MODEL}","input":"x","previous_response_id":"${response.id}"}`;
    const loose = `{"model":"${MODEL}","input":"x\\q","previous_response_id":"${response.id}"}`;
    const deep = `{"model":"${MODEL}","input":"x","y":${'['.repeat(240)}"${file.id}"${']'.repeat(240)}}`;
    const deeper = deep.replace(/\[/g, '[[').replace(/\]/g, ']]');
    expect(await ask(gateway.key, 'POST', '/v1/batches', Buffer.from(deeper))).toMatchObject(NOT_FOUND);
    expect(await ask(gateway.key, 'POST', '/v1/batches', Buffer.from(deep))).toMatchObject(NOT_FOUND);
    for (const text of [twice, marked, loose])
      expect([text, await ask(gateway.key, 'POST', '/v1/responses', Buffer.from(text))]).toMatchObject([
        text,
        NOT_FOUND,
      ]);
    const line = JSON.stringify({ custom_id: '1', body: { previous_response_id: response.id } });
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    for (const lines of [line, `${'\n'.repeat(2_000)}${line}`]) {
      const form = `--b\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${lines}\r\n--b--\r\n`;
      const answer = await ask(gateway.key, 'POST', '/v1/files', Buffer.from(form), { headers });
      expect(answer).toMatchObject(NOT_FOUND);
    }
    expect(gateway.upstream.requests.length).toBe(sent + 1);
    // The project itself may do all of that.
    for (const [path, fields] of bodies.filter(
      ([, { metadata }]: [string, { metadata?: object }]) => !metadata,
    )) {
      if (JSON.stringify(fields).includes(response.id.toUpperCase())) continue;
      const answer = await ask(other, 'POST', path, { model: MODEL, ...fields, file_ids: undefined });
      expect([path, fields, answer.code]).not.toEqual([path, fields, 'object_not_found']);
    }
  });

  test('made by a stream belongs to it too, whichever event names it', async () => {
    const body = { model: MODEL, input: 'Hi', stream: true };
    const { id } = await ask(other, 'POST', '/v1/responses', body);
    expect(id).not.toBe('');
    expect(await ask(gateway.key, 'GET', `/v1/responses/${id}`)).toMatchObject(NOT_FOUND);
    expect((await ask(other, 'GET', `/v1/responses/${id}`)).status).toBe(200);
    const reference = { model: MODEL, input: [{ type: 'item_reference', id: 'msg_1_0000000' }] };
    expect(await ask(gateway.key, 'POST', '/v1/responses', reference)).toMatchObject(NOT_FOUND);
    expect((await ask(other, 'POST', '/v1/responses', reference)).status).toBe(200);
  });

  test('that gw keeps for a provider without responses is its own as well', async () => {
    gateway.upstream.script(async (exchange) => {
      await exchange.body;
      const isChat = exchange.request.path.endsWith('/chat/completions');
      const message = { role: 'assistant', content: 'Hello' };
      const answer = { id: 'chatcmpl-1', choices: [{ index: 0, message, finish_reason: 'stop' }] };
      const error = { error: { message: 'Not found', type: 'invalid_request_error' } };
      const type = { 'content-type': 'application/json' };
      await exchange.send(isChat ? 200 : 404, type, JSON.stringify(isChat ? answer : error));
    });
    const first = await request(gateway.origin, {
      path: '/v1/responses',
      headers: { authorization: `Bearer ${other}`, 'content-type': 'application/json' },
      body: { model: MODEL, input: 'Hi' },
    });
    const { output } = first.json() as { output: { id: string }[] };
    const again = {
      model: MODEL,
      input: [
        { type: 'item_reference', id: output[0]?.id },
        { role: 'user', content: 'x' },
      ],
    };
    expect(await ask(gateway.key, 'POST', '/v1/responses', again)).toMatchObject(NOT_FOUND);
    expect((await ask(other, 'POST', '/v1/responses', again)).status).toBe(200);
    // Not for an admin key of another project either: gw keeps it in memory for the project alone.
    expect((await ask(gateway.adminKey, 'POST', '/v1/responses', again)).status).toBe(400);
  });

  test('is not listed, and unknown ids are for admin keys', async () => {
    for (const path of ['/v1/files', '/v1/batches?limit=1', '/v1/vector_stores/', '/v1/fine_tuning/jobs']) {
      expect(await ask(other, 'GET', path)).toMatchObject({ status: 403, code: 'endpoint_closed' });
      expect((await ask(gateway.adminKey, 'GET', path)).status).toBe(200);
    }
    expect(await ask(other, 'GET', '/v1/files/file-unknown')).toMatchObject(NOT_FOUND);
    expect((await ask(gateway.adminKey, 'GET', '/v1/files/file-unknown')).status).toBe(200);
    // The admin's look at it makes it nobody's.
    expect(await ask(gateway.key, 'GET', '/v1/files/file-unknown')).toMatchObject(NOT_FOUND);
  });

  test('can be named in no file of requests that comes in parts', async () => {
    const upload = (key: string, body: string) => ask(key, 'POST', '/v1/uploads', Buffer.from(body));
    const batch = '{"purpose":"batch","filename":"a.jsonl"}';
    for (const body of [
      batch,
      '{"purpose":"fine-tune"}',
      '{"purpose":"evals"}',
      '{"purpose":"vision","x":"&purpose=batch&x"}',
      '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--\r\n"purpose":"vision"',
      '{"filename":"a.jsonl"}',
      '{"purpose":"vision","purpose":"batch"}',
      '{"purpose":"vision","\\u0070urpose":"batch"}',
    ])
      expect([body, await upload(gateway.key, body)]).toMatchObject([body, { code: 'endpoint_closed' }]);
    for (const path of ['/v1/%75ploads', '/v1/Uploads/', '/v1/uploads?purpose=vision'])
      expect([path, await ask(gateway.key, 'POST', path, Buffer.from(batch))]).toMatchObject([
        path,
        { code: 'endpoint_closed' },
      ]);
    for (const purpose of ['user_data', 'assistants', 'vision'])
      expect((await upload(gateway.key, `{"purpose": "${purpose}", "filename": "a=b&c.pdf"}`)).status).toBe(
        200,
      );
    expect((await upload(gateway.adminKey, batch)).status).toBe(200);
  });

  test('at one provider is not found by the name of another', async () => {
    gateway.configure({ providers: { second: { baseUrl: gateway.upstream.url } } });
    const headers = { 'x-service-provider': 'mock' };
    const { id } = await ask(other, 'POST', '/v1/files', {}, { headers });
    for (const provider of ['mock', 'second']) {
      const parts = { headers: { 'x-service-provider': provider } };
      expect(await ask(gateway.key, 'GET', `/v1/files/${id}`, undefined, parts)).toMatchObject(NOT_FOUND);
    }
  });
});

test('with one project nothing is written, and what it made stays its own when there is a second', async () => {
  const { id } = await ask(gateway.key, 'POST', '/v1/files', {});
  const stream = { model: MODEL, input: 'Hi', stream: true };
  const response = await ask(gateway.key, 'POST', '/v1/responses', stream);
  expect((await ask(gateway.key, 'GET', '/v1/files')).status).toBe(200);
  await gateway.records();
  expect(gateway.db.prepare('SELECT count(*) FROM objects').pluck().get()).toBe(0);
  await gateway.newProject('web');
  other = await gateway.newKey('web');
  for (const path of [`/v1/files/${id}`, `/v1/responses/${response.id}`]) {
    expect(await ask(other, 'GET', path)).toMatchObject(NOT_FOUND);
    expect((await ask(gateway.key, 'GET', path)).status).toBe(200);
  }
  const next = { model: MODEL, input: 'x', previous_response_id: response.id };
  expect(await ask(other, 'POST', '/v1/responses', next)).toMatchObject(NOT_FOUND);
  expect((await ask(gateway.key, 'POST', '/v1/responses', next)).status).toBe(200);
  // Not in another spelling, which a provider could take for the id of somebody else's object.
  expect(await ask(gateway.key, 'GET', `/v1/files/${id}%20`)).toMatchObject({ code: 'path_spelling' });
});

test.each([
  '/v1/organization/admin_api_keys',
  '/v1/organizations/api_keys',
  '/v1/Organization/users',
  '/v1/organ%69zation/users',
  '/v1//organization//costs',
  '/v1/projects/p/api_keys',
  '/v1/dashboard/billing/usage',
  '/v1/keys',
  '/v1/key/generate',
  '/v1/x/organization/users',
])('%s is closed, also to admin keys, unless the owner opens it', async (path) => {
  for (const key of [gateway.key, gateway.adminKey]) {
    const answer = await ask(key, 'GET', path);
    expect(answer).toMatchObject({ status: 403, code: 'endpoint_closed' });
  }
  expect(gateway.upstream.requests).toHaveLength(0);
  gateway.configure({ 'passthrough.organization': 'allow' });
  expect((await ask(gateway.key, 'GET', path)).status).toBe(200);
});
