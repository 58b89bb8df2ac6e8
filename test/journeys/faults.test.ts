import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { openConnection, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, STREAM, startGateway } from '../support/gateway.ts';
import { hang, html, raw, reset, respond, type Script, status } from '../support/scripts.ts';
import { cut, sse } from '../support/sse-scripts.ts';
import { refusingUrl } from '../support/upstream.ts';

describe('an upstream that cannot be reached', () => {
  test.each([
    ['refuses', refusingUrl],
    ['has an unknown host name', async () => 'http://gw-test.invalid/v1'],
  ])('%s: 502, nothing booked', async (_name, baseUrl) => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    gateway.configure({ providers: { mock: { baseUrl: await baseUrl() } } });
    for (const body of [PLAIN, STREAM]) {
      const answer = await gateway.post({ ...body, max_tokens: 5 });
      expect(answer.status).toBe(502);
      expect(answer.json()).toMatchObject({
        error: {
          type: 'api_error',
          code: 'upstream_unreachable',
          param: null,
          message: expect.stringContaining('mock'),
        },
      });
    }
    for (const record of await gateway.settled(2)) {
      expect(record).toMatchObject({
        outcome: 'upstream_failed',
        status: 502,
        costNanoUsd: 0,
        inputTokens: 0,
        flags: expect.not.arrayContaining(['estimated']),
      });
    }
    expect(await spent(gateway)).toEqual({ posted: 0, pending: 0 });
  });
});

async function spent({ db }: Awaited<ReturnType<typeof startGateway>>) {
  return db
    .prepare('SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods')
    .get();
}

test('errors name gw by the command that started it, before an answer and within one', async () => {
  const pasteable = (text: string) => text.replace('gw providers', './bin/gw providers');
  const gateway = await startGateway({ pasteable });
  gateway.upstream.queue(reset(), cut({ afterChunks: 3 }));
  for (const status of [502, 200]) {
    const answer = await gateway.post({ ...STREAM, max_tokens: 5 });
    expect(answer.status).toBe(status);
    expect(answer.text()).toContain('See: ./bin/gw providers test mock');
  }
});

describe('an upstream that is too slow', () => {
  const settings = { 'upstream.first_byte_timeout_ms': 200, 'upstream.idle_timeout_ms': 200 };

  test.each([
    ['plain', PLAIN],
    ['streaming', STREAM],
  ])('to answer at all: 504, %s', async (_name, body) => {
    const gateway = await startGateway({ settings });
    gateway.upstream.queue(hang());
    const answer = await gateway.post({ ...body, max_tokens: 5 });
    expect(answer.status).toBe(504);
    expect(answer.json()).toMatchObject({ error: { code: 'upstream_timeout', type: 'api_error' } });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'upstream_failed', status: 504 });
    expect(gateway.upstream.requests[0]?.hungUp).toBeDefined();
  });

  test('to go on with a stream: a cut', async () => {
    const gateway = await startGateway({ settings });
    const gate = createGate();
    gateway.upstream.queue(sse(['one', 'two'], { pace: gate.pass }));
    gate.open(2);
    const answer = await gateway.post(STREAM);
    expect([answer.status, answer.complete]).toEqual([200, false]);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed', status: 200 }]);
  });

  test('by a setting that was changed after the first call', async () => {
    const gateway = await startGateway();
    await gateway.post(PLAIN);
    gateway.configure({ 'upstream.first_byte_timeout_ms': 200 });
    gateway.upstream.queue(hang());
    expect((await gateway.post(PLAIN)).status).toBe(504);
  });
});

describe("an upstream's own errors pass unchanged", () => {
  test.each([400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 529])('%i', async (code) => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    for (const body of [PLAIN, STREAM]) {
      gateway.upstream.queue(status(code, { retryAfter: '7' }));
      const answer = await gateway.post({ ...body, max_tokens: 5 });
      expect([answer.status, answer.header('retry-after')]).toEqual([code, '7']);
      expect(answer.text()).toContain(`The upstream says ${code}.`);
      expect(answer.header('x-service-request-id')).toMatch(/^req_/);
    }
    const records = await gateway.settled(2);
    for (const record of records)
      expect(record).toMatchObject({ outcome: 'upstream_error', status: code, costNanoUsd: 0 });
    expect(await spent(gateway)).toEqual({ posted: 0, pending: 0 });
    expect(gateway.upstream.requests).toHaveLength(2);
  });

  test('and the only target is tried even before its retry-after is over', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(status(429, { retryAfter: '7' }));
    expect((await gateway.post(PLAIN)).status).toBe(429);
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });

  test('HTML, with an error status or with status 200, which is a failure', async () => {
    const gateway = await startGateway();
    for (const code of [200, 403, 502]) {
      gateway.upstream.queue(html(code));
      const answer = await gateway.post(PLAIN);
      expect([answer.status, answer.header('content-type')]).toEqual([code, 'text/html; charset=utf-8']);
      expect(answer.text()).toContain('<!DOCTYPE html>');
    }
    expect((await gateway.settled(3)).map(({ outcome }) => outcome)).toEqual([
      'upstream_error',
      'upstream_error',
      'upstream_error',
    ]);
  });

  test('an error as an event stream', async () => {
    const gateway = await startGateway();
    const body = 'data: {"error":{"message":"no"}}\n\n';
    gateway.upstream.queue(respond(400, { 'content-type': 'text/event-stream' }, body));
    const answer = await gateway.post(STREAM);
    expect([answer.status, answer.text()]).toEqual([400, body]);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_error', costNanoUsd: 0 }]);
  });

  test('a redirect is not followed', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(respond(307, { location: 'http://127.0.0.1:1/elsewhere' }, ''));
    const answer = await gateway.post(PLAIN);
    expect([answer.status, answer.header('location')]).toEqual([307, 'http://127.0.0.1:1/elsewhere']);
    expect(gateway.upstream.requests).toHaveLength(1);
  });

  test('204 without a body', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(raw('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'));
    expect(await gateway.post(PLAIN)).toMatchObject({ status: 204, complete: true });
    await gateway.settled(1);
  });
});

describe('an upstream that breaks off', () => {
  const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
  test.each<[string, Script, string]>([
    ['before the head', reset(), 'upstream_failed'],
    ['within the head', reset({ afterBytes: 20 }), 'upstream_failed'],
    ['after the head', reset({ afterBytes: 72 }), 'upstream_failed'],
    ['within the body', reset({ afterBytes: 90 }), 'upstream_failed'],
    [
      'within the body, in order',
      raw(`${JSON_HEAD}content-length: 100\r\n\r\n{"choices":[]`),
      'upstream_failed',
    ],
    [
      'within a chunk',
      raw(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\n20\r\n{"choices":[]`),
      'upstream_failed',
    ],
    ['with bytes that are not HTTP', raw('BANANA\r\n\r\n'), 'upstream_failed'],
    [
      'with a chunk that is none',
      raw(`${JSON_HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`),
      'upstream_failed',
    ],
  ])('%s: 502, never a part of an answer as the whole', async (_name, script, code) => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    gateway.upstream.queue(script);
    const answer = await gateway.post({ ...PLAIN, max_tokens: 5 });
    expect(answer.status).toBe(502);
    expect(answer.json()).toMatchObject({ error: { code, type: 'api_error', param: null } });
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'upstream_failed', status: 502, flags: ['estimated'] });
    // It may have generated an answer, so its possible cost is booked, up to the hold.
    expect(record?.costNanoUsd).toBeGreaterThan(0);
    expect(record?.costNanoUsd).toBeLessThanOrEqual(record?.holdNanoUsd ?? 0);
  });

  test('within an event of a stream: what arrived is booked', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1 } });
    const words = 'measure '.repeat(1_000);
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      await exchange.chunk(`data: {"choices":[{"delta":{"content":"${words}`);
      exchange.close();
    });
    const answer = await gateway.post({ ...STREAM, max_tokens: 20_000 });
    expect(answer.complete).toBe(false);
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({ outcome: 'upstream_failed', flags: ['stream', 'estimated'] });
    expect(record?.outputTokens).toBeGreaterThanOrEqual(1_000);
  });

  test('is tried once, not again', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(reset());
    await gateway.post(PLAIN);
    expect(gateway.upstream.requests).toHaveLength(1);
  });

  test('an answer without length or chunks ends with the connection', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(raw(`${JSON_HEAD}\r\n{"usage":{"prompt_tokens":1,"completion_tokens":2}}`));
    expect((await gateway.post(PLAIN)).text()).toBe('{"usage":{"prompt_tokens":1,"completion_tokens":2}}');
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'ok', outputTokens: 2 }]);
  });

  test('an idle connection that the upstream closed is not used for the next request', async () => {
    const gateway = await startGateway();
    for (let i = 0; i < 10; i++) {
      gateway.upstream.queue(async (exchange) => {
        await completion()(exchange);
        exchange.close();
      });
      expect((await gateway.post(PLAIN)).status).toBe(200);
    }
  });
});

describe('an upstream that answers before it has the whole prompt', () => {
  const content = 'x'.repeat(8_000_000);
  const refusal = '{"error":{"message":"too long","type":"invalid_request_error","param":null,"code":null}}';

  test('and goes on reading: its answer passes', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(async (exchange) => {
      await exchange.send(413, { 'content-type': 'application/json' }, refusal);
      await exchange.body;
    });
    const answer = await gateway.post({
      ...PLAIN,
      messages: [{ role: 'user', content }],
      service: { optimize: false },
    });
    expect([answer.status, answer.text()]).toEqual([413, refusal]);
    await gateway.settled(1);
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });

  test('and closes: an answer or a 502, and the next request is served', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(async (exchange) => {
      await exchange.send(413, { 'content-type': 'application/json', connection: 'close' }, refusal);
      exchange.close();
    });
    const answer = await gateway.post({
      ...PLAIN,
      messages: [{ role: 'user', content }],
      service: { optimize: false },
    });
    expect([413, 502]).toContain(answer.status);
    await gateway.settled(1);
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });
});

test('the content type of an event stream is not case-sensitive', async () => {
  const gateway = await startGateway();
  const gate = createGate();
  gateway.upstream.queue(
    sse(['one'], { pace: gate.pass, headers: { 'content-type': 'Text/Event-Stream;charset=UTF-8' } }),
  );
  const connection = await gateway.open(STREAM);
  gate.open(2);
  await connection.bodyUntil('one');
  gate.openForGood();
  expect((await connection.response()).complete).toBe(true);
  expect(await gateway.settled(1)).toMatchObject([{ flags: ['stream'], outputTokens: 1 }]);
  connection.hangUp();
});

test.each([
  ['plain', PLAIN],
  ['streaming', STREAM],
])('a client of HTTP/1.0 gets its answer, %s, and the connection is closed', async (_name, body) => {
  const gateway = await startGateway();
  const connection = await openConnection(gateway.url);
  const bytes = requestBytes(`${gateway.url}/complete`, {
    body,
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  await connection.send(Buffer.from(bytes.toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'), 'latin1'));
  const answer = await connection.response();
  expect([answer.status, answer.header('transfer-encoding')]).toEqual([200, undefined]);
  expect(answer.text()).toContain('upstream.');
  await connection.closed;
});

test('an answer that arrives byte by byte is one answer', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    const text =
      '{"choices":[{"message":{"content":"é"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}';
    const bytes = Buffer.from(
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    for (const byte of bytes) await exchange.write(Buffer.from([byte]));
  });
  const answer = await gateway.post(PLAIN);
  expect(answer.json()).toMatchObject({ choices: [{ message: { content: 'é' } }] });
  expect(await gateway.settled(1)).toMatchObject([{ inputTokens: 3, outputTokens: 4 }]);
});

test('the openai package retries a 503 by its own rules, and each try is recorded', async () => {
  const gateway = await startGateway();
  const headers = { 'retry-after-ms': '1' };
  gateway.upstream.queue(
    status(503, { headers }),
    status(429, { headers }),
    completion({ content: 'at last' }),
  );
  const client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 2 });
  const answer = await client.chat.completions.create(PLAIN);
  expect(answer.choices[0]?.message.content).toBe('at last');
  expect((await gateway.settled(3)).map(({ status }) => status)).toEqual([503, 429, 200]);
});

describe('many at once', () => {
  test('500, plain and streaming, each gets its own answer', async () => {
    const gateway = await startGateway();
    gateway.upstream.script(async (exchange) => {
      const { messages, stream } = JSON.parse((await exchange.body).toString());
      const content = `answer to ${messages[0].content}`;
      const usage = usageOf(5, 7);
      await (stream ? sse([content], { usage }) : completion({ content, usage }))(exchange);
    });
    await gateway.get('/v1/models');
    const answers = await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        const body = { ...(i % 2 ? STREAM : PLAIN), messages: [{ role: 'user', content: `question ${i}.` }] };
        return (await gateway.post(body)).text();
      }),
    );
    for (const [i, text] of answers.entries()) expect(text).toContain(`answer to question ${i}.`);
    const records = await gateway.settled(500);
    expect(records).toHaveLength(500);
    expect(new Set(records.map(({ id }) => id)).size).toBe(500);
    expect(gateway.db.prepare('SELECT sum(requests) AS n, sum(output_tokens) AS o FROM usage').get()).toEqual(
      { n: 500, o: 3500 },
    );
  }, 180_000);

  test('100 in turn on one connection of the client use one connection to the upstream', async () => {
    const gateway = await startGateway();
    const connection = await openConnection(gateway.url);
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    for (let i = 0; i < 100; i++) {
      await connection.send(requestBytes(`${gateway.url}/complete`, { body: PLAIN, headers }));
      expect((await connection.response()).status).toBe(200);
    }
    expect(new Set(gateway.upstream.requests.map((seen) => seen.connection)).size).toBe(1);
    connection.hangUp();
  });

  test('pipelined requests are answered in their order', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(completion({ content: 'first' }), completion({ content: 'second' }));
    const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' };
    const connection = await openConnection(gateway.url);
    const health = requestBytes(`${gateway.origin}/health`, { method: 'GET' });
    await connection.send(
      Buffer.concat([requestBytes(`${gateway.url}/complete`, { body: PLAIN, headers }), health]),
    );
    expect((await connection.response()).text()).toContain('first');
    expect((await connection.response()).json()).toMatchObject({ status: 'ok' });
    connection.hangUp();
  });
});
