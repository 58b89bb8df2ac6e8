import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { answer, completion } from './chat-scripts.ts';
import { usageOf } from './chat-shapes.ts';
import { openConnection, type RequestParts, request, requestBytes } from './client.ts';
import { createGate } from './gate.ts';
import { chunkBytes } from './http-message.ts';
import { metered } from './metered.ts';
import { echo, hang, html, json, modelList, raw, reset, status } from './scripts.ts';
import { cut, malformedSse, sse } from './sse-scripts.ts';
import { steady } from './steady.ts';
import { refusingUrl, startUpstream, type Upstream } from './upstream.ts';

let upstream: Upstream;
beforeEach(async () => {
  upstream = await startUpstream();
});
afterEach(() => upstream.close());

const CHAT = { model: 'gpt-5', messages: [{ role: 'user' as const, content: 'Hi' }] };
const STREAM = { ...CHAT, stream: true as const, stream_options: { include_usage: true } };

function post(body: unknown = CHAT, parts: RequestParts = {}) {
  return request(`${upstream.url}/chat/completions`, { body, ...parts });
}

async function open(body: unknown = STREAM) {
  const connection = await openConnection(upstream.url);
  await connection.send(requestBytes(`${upstream.url}/chat/completions`, { body }));
  return connection;
}

/** The data of each event of an SSE body. */
function dataOf(body: string): string[] {
  return body
    .split(/\r?\n\r?\n/)
    .filter((event) => event !== '')
    .map((event) => event.replace('data: ', ''));
}

describe('what it records', () => {
  test('the method, the target, the headers as they were written and the exact body', async () => {
    const body = '{"model":"m", "x":"ü\\u00fc"}';
    await post(body, {
      path: '/v1/chat/completions?a=1',
      headers: { 'X-Odd-Case': 'Yes', 'x-odd-case': 'no' },
    });
    const seen = await upstream.nextRequest();
    expect([seen.method, seen.path]).toEqual(['POST', '/v1/chat/completions?a=1']);
    expect(seen.head.headers).toContainEqual(['X-Odd-Case', 'Yes']);
    expect(seen.head.headers).toContainEqual(['x-odd-case', 'no']);
    expect(seen.body.toString()).toBe(body);
  });

  test('a chunked body, written a byte at a time, without its framing', async () => {
    upstream.script(echo());
    const parts = { headers: { 'transfer-encoding': 'chunked' } };
    const connection = await openConnection(upstream.url);
    await connection.sendByteByByte(
      Buffer.concat([
        requestBytes(upstream.url, parts),
        chunkBytes('{"a"'),
        chunkBytes(':"é"}'),
        chunkBytes(''),
      ]),
    );
    expect((await connection.response()).text()).toBe('{"a":"é"}');
    expect(upstream.requests[0]?.body.toString()).toBe('{"a":"é"}');
    connection.hangUp();
  });

  test('which requests shared a connection', async () => {
    const connection = await open(CHAT);
    await connection.response();
    await connection.send(requestBytes(`${upstream.url}/chat/completions`, { body: CHAT }));
    await connection.response();
    await post();
    expect(upstream.requests.map((seen) => seen.connection)).toEqual([1, 1, 2]);
    connection.hangUp();
  });

  test('when the peer left, and how much had been sent by then', async () => {
    const gate = createGate();
    upstream.queue(sse(['one', ' two', ' three'], { pace: gate.pass }));
    const connection = await open();
    gate.open(3);
    const body = await connection.bodyUntil('two');
    connection.hangUp();
    const seen = await upstream.nextRequest();
    await seen.done;
    expect(seen.hungUp).toMatchObject({ bodyBytes: body.length, outputTokens: 2 });
  });

  test('nothing of a leaving peer when it was the script that closed', async () => {
    upstream.queue(reset(), cut({ afterChunks: 1, end: 'close' }));
    await expect(post()).rejects.toThrow('the peer ended');
    expect((await post(STREAM)).complete).toBe(false);
    for (const seen of upstream.requests) expect(seen.hungUp).toBeUndefined();
  });

  test('a script that fails makes close() fail', async () => {
    const other = await startUpstream({ script: () => Promise.reject(new Error('a bug in a script')) });
    await request(`${other.url}/chat/completions`).catch(() => {});
    await expect(other.close()).rejects.toThrow('a bug in a script');
  });
});

describe('whole answers', () => {
  test('a queued script answers one request, the other script the rest', async () => {
    upstream.queue(json(418, { teapot: true }, { 'x-pot': 'small' }));
    const first = await post();
    expect([first.status, first.header('x-pot'), first.json()]).toEqual([418, 'small', { teapot: true }]);
    expect((await post()).json()).toMatchObject({ object: 'chat.completion', model: 'gpt-5' });
  });

  test('completion() reports the given usage, none, or null', async () => {
    upstream.queue(
      completion({ usage: usageOf(7, 3) }),
      completion({ usage: 'none' }),
      completion({ usage: null }),
    );
    expect((await post()).json()).toMatchObject({ usage: { prompt_tokens: 7, completion_tokens: 3 } });
    expect((await post()).json()).not.toHaveProperty('usage');
    expect((await post()).json()).toHaveProperty('usage', null);
    expect(upstream.requests[0]?.progress).toMatchObject({ inputTokens: 7, outputTokens: 3 });
  });

  test('status() is an error with what a client needs to retry', async () => {
    upstream.queue(status(429, { retryAfter: '7' }), html(502));
    const limited = await post();
    expect([limited.status, limited.header('retry-after')]).toEqual([429, '7']);
    expect(limited.json()).toMatchObject({ error: { code: 'rate_limit_exceeded', param: null } });
    const page = await post();
    expect([page.status, page.header('content-type')]).toEqual([502, 'text/html; charset=utf-8']);
  });

  test('models are listed without touching the queue', async () => {
    upstream.queue(status(500));
    upstream.models(modelList(['a', 'b']));
    const list = await request(`${upstream.url}/models`, { method: 'GET' });
    expect(list.json()).toMatchObject({ object: 'list', data: [{ id: 'a' }, { id: 'b' }] });
    expect([upstream.requests.length, upstream.modelRequests.length]).toEqual([0, 1]);
  });
});

describe('streams', () => {
  test('sse() sends what OpenAI sends when usage is asked for', async () => {
    upstream.queue(sse(['Hel', 'lo']));
    const data = dataOf((await post(STREAM)).text());
    expect(data.pop()).toBe('[DONE]');
    const chunks = data.map((text) => JSON.parse(text));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Hel' },
      { content: 'lo' },
      {},
      undefined,
    ]);
    expect(chunks.map((chunk) => chunk.usage?.completion_tokens)).toEqual([...Array(4).fill(undefined), 2]);
    expect(chunks[0]).toMatchObject({ object: 'chat.completion.chunk', usage: null, model: 'gpt-5' });
  });

  test('sse() has no usage when it is not asked for', async () => {
    upstream.queue(sse(['Hi']));
    expect((await post({ ...CHAT, stream: true })).text()).not.toContain('usage');
  });

  test('the bytes are the same wherever they are split', async () => {
    const chunks = ['grüß', ' 👋🏽', { x_unknown: [1, 2] }];
    upstream.queue(sse(chunks), sse(chunks, { splitAt: 'every-byte' }));
    const { body } = await post(STREAM);
    expect((await post(STREAM)).body).toEqual(body);
    for (const splitAt of [1, 250, body.length - 1]) {
      upstream.queue(sse(chunks, { splitAt }));
      expect((await post(STREAM)).body).toEqual(body);
      expect(upstream.requests.at(-1)?.progress.outputTokens).toBe(3);
    }
  });

  test('a gate decides when each event goes out', async () => {
    const gate = createGate();
    upstream.queue(sse(['one', ' two'], { pace: gate.pass }));
    const connection = await open();
    gate.open(2);
    expect((await connection.bodyUntil('one')).toString()).not.toContain('two');
    gate.openForGood();
    expect((await connection.response()).text()).toContain('[DONE]');
    connection.hangUp();
  });

  test.each(['reset', 'close', 'finish'] as const)(
    'cut() ends by %s without a finish reason',
    async (end) => {
      upstream.queue(cut({ afterChunks: 2, end }));
      const response = await post(STREAM);
      expect(response.complete).toBe(end === 'finish');
      expect(response.text()).not.toMatch(/"finish_reason":"|\[DONE\]/);
      if (end !== 'reset') expect(response.text()).toContain('word1');
    },
  );

  test('the openai package reads both forms of answer()', async () => {
    upstream.script(answer('Two words'));
    const client = new OpenAI({ baseURL: upstream.url, apiKey: 'sk-test', maxRetries: 0 });
    const whole = await client.chat.completions.create(CHAT);
    expect(whole.choices[0]?.message.content).toBe('Two words');
    let text = '';
    for await (const chunk of await client.chat.completions.create(STREAM)) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe('Two words');
  });
});

describe('faults', () => {
  test('reset() breaks off after so many bytes', async () => {
    upstream.queue(reset({ afterBytes: 120 }));
    const connection = await open();
    const response = await connection.response().catch(() => undefined);
    expect(response?.complete ?? false).toBe(false);
    await connection.closed;
  });

  test('raw() and malformedSse() send what is no answer', async () => {
    upstream.queue(raw('HTTP/1.1 banana\r\n\r\n'), malformedSse());
    expect((await post()).head.firstLine).toBe('HTTP/1.1 banana');
    expect((await post(STREAM)).text()).toContain('no json');
  });

  test('hang() waits until the peer leaves', async () => {
    upstream.queue(hang());
    const connection = await open();
    const seen = await upstream.nextRequest();
    connection.hangUp();
    await seen.done;
    expect(seen.hungUp).toMatchObject({ bodyBytes: 0 });
  });

  test('nobody listens at refusingUrl()', async () => {
    await expect(openConnection(await refusingUrl())).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('an answer stalls while its reader does', async () => {
    const [megabyte, chunks] = [Buffer.alloc(1 << 20), 64];
    upstream.queue(async (exchange) => {
      await exchange.start(200);
      for (let sent = 0; sent < chunks; sent++) await exchange.chunk(megabyte);
      await exchange.finish();
    });
    const connection = await openConnection(upstream.url);
    connection.pause();
    await connection.send(requestBytes(upstream.url));
    const { progress } = await upstream.nextRequest();
    expect(await steady(() => progress.bodyBytes)).toBeLessThan(chunks * megabyte.length);
    connection.resume();
    expect((await connection.response()).body).toHaveLength(chunks * megabyte.length);
    connection.hangUp();
  });
});

describe('metered()', () => {
  test('bills what it generated before it noticed that the peer had left', async () => {
    const ticks = createGate();
    upstream.queue(metered({ tokens: 1000, perTick: 7, tick: ticks.pass }));
    const connection = await open();
    const seen = await upstream.nextRequest();
    ticks.open(3);
    await ticks.reached();
    expect(seen.progress.outputTokens).toBe(21);
    connection.hangUp();
    await seen.done;
    ticks.openForGood();
    expect(seen.progress.outputTokens).toBe(21);
    expect(seen.hungUp?.inputTokens).toBe(Math.ceil(seen.body.length / 4));
  });

  test('obeys the output limit and reports what it billed', async () => {
    const ticks = createGate();
    ticks.openForGood();
    upstream.script(metered({ tokens: 1000, perTick: 7, tick: ticks.pass }));
    const whole = (await post({ ...CHAT, max_tokens: 10, n: 2 })).json();
    expect(whole).toMatchObject({ usage: { completion_tokens: 20 }, choices: [{ finish_reason: 'length' }] });
    const streamed = await post({ ...STREAM, max_completion_tokens: 10 });
    expect(streamed.text()).toContain('"completion_tokens":10');
    expect(upstream.requests.map((seen) => seen.progress.outputTokens)).toEqual([20, 10]);
  });
});
