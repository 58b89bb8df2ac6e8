import { describe, expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { deferred } from '../support/deferred.ts';
import type { Exchange } from '../support/exchange.ts';
import { createGate } from '../support/gate.ts';
import { MODEL, STREAM, startGateway, until } from '../support/gateway.ts';
import type { Script } from '../support/scripts.ts';
import { cut, malformedSse, sse } from '../support/sse-scripts.ts';
import { steady } from '../support/steady.ts';

const LONG = { timeout: 120_000 };

const HEADERS = { 'content-type': 'text/event-stream' };
const USAGE = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
const ASKED = { ...STREAM, stream_options: { include_usage: true } };

const content = (text: string, rest = {}) =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: text } }], ...rest });
const usageEvent = (rest = {}) => JSON.stringify({ id: 'c', choices: [], usage: USAGE, ...rest });

/** A stream of these bytes, split at these offsets. */
function pieces(bytes: Buffer, ...cuts: number[]): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, HEADERS);
    let from = 0;
    for (const to of [...cuts, bytes.length]) {
      if (to > from) await exchange.chunk(bytes.subarray(from, to));
      from = to;
    }
    await exchange.finish();
  };
}

/** One stream in every variant of the format. */
function written(eol: string, { done = true } = {}): { all: Buffer; hidden: Buffer } {
  const event = (...lines: string[]) => lines.join(eol) + eol + eol;
  const before = [
    event(`data: ${content('')}`),
    event(': a comment'),
    event(`event: message`, `id: 7`, `data:${content('é✓')}`),
    event(`data: ${content('🎉', { usage: null })}`),
    event(`retry: 10`),
    event(`data: {"choices":[],`, `data:"prompt_filter_results":[]}`),
  ];
  const usage = event(`data:${usageEvent()}`);
  const after = [event(': bye'), ...(done ? [event('data: [DONE]')] : [])];
  return {
    all: Buffer.from([...before, usage, ...after].join('')),
    hidden: Buffer.from([...before, ...after].join('')),
  };
}

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('events with %s', (_name, eol) => {
  const { all, hidden } = written(eol);

  test('split in two anywhere pass unchanged, with the usage hidden', LONG, async () => {
    const gateway = await startGateway();
    const step = process.env.GW_LONG ? 1 : 5;
    let count = 0;
    for (let at = 0; at <= all.length; at += step) {
      gateway.upstream.queue(pieces(all, at));
      const answer = await gateway.post(STREAM);
      expect([at, answer.complete, answer.text()]).toEqual([at, true, hidden.toString()]);
      count++;
    }
    const records = await gateway.settled(count);
    expect(new Set(records.map((r) => `${r.inputTokens} ${r.outputTokens} ${r.flags}`))).toEqual(
      new Set(['20 10 stream']),
    );
  });

  test('byte by byte, with or without usage, with or without [DONE]', async () => {
    const gateway = await startGateway();
    const open = written(eol, { done: false });
    const each = (bytes: Buffer) => pieces(bytes, ...bytes.keys());
    gateway.upstream.queue(each(all), each(all), each(open.all), each(open.all));
    expect((await gateway.post(STREAM)).text()).toBe(hidden.toString());
    expect((await gateway.post(ASKED)).text()).toBe(all.toString());
    expect((await gateway.post(STREAM)).text()).toBe(open.hidden.toString());
    expect((await gateway.post(ASKED)).text()).toBe(open.all.toString());
    for (const record of await gateway.settled(4))
      expect(record).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  });
});

describe('usage', () => {
  test.each([
    ['in an event with choices stays, requested or not', content('x', { usage: USAGE }), true],
    ['in an event without choices is hidden', usageEvent(), false],
    ['in an event with an empty extra field is hidden', usageEvent({ x_groq: {} }), false],
    ['that is null stays', JSON.stringify({ choices: [], usage: null }), true],
    ['as a word in the text stays', content('"usage": {"prompt_tokens": 1}'), true],
  ])('%s', async (_name, data, stays) => {
    const gateway = await startGateway();
    const bytes = `data: ${content('a')}\n\ndata: ${data}\n\ndata: ${content('b')}\n\ndata: [DONE]\n\n`;
    gateway.upstream.queue(pieces(Buffer.from(bytes)));
    const answer = await gateway.post(STREAM);
    expect(answer.text()).toBe(stays ? bytes : bytes.replace(`data: ${data}\n\n`, ''));
  });

  test('in an event without an empty line after it is read and hidden', async () => {
    const gateway = await startGateway();
    const bytes = `data: ${content('a')}\n\n`;
    for (const end of ['', '\n', '\r', '\r\n', '\r\n\r']) {
      gateway.upstream.queue(pieces(Buffer.from(`${bytes}data: ${usageEvent()}${end}`)));
      expect((await gateway.post(STREAM)).text()).toBe(bytes);
    }
    for (const record of await gateway.settled(5)) {
      expect(record).toMatchObject({ inputTokens: 20, outputTokens: 10, flags: ['stream'] });
    }
  });

  test('is that of the last event that has any', async () => {
    const gateway = await startGateway();
    const first = content('a', { usage: { prompt_tokens: 1, completion_tokens: 1 } });
    gateway.upstream.queue(
      pieces(Buffer.from(`data: ${first}\n\ndata: ${usageEvent()}\n\ndata: [DONE]\n\n`)),
    );
    await gateway.post(STREAM);
    expect(await gateway.settled(1)).toMatchObject([{ inputTokens: 20, outputTokens: 10 }]);
  });
});

describe('[DONE]', () => {
  test('is not added if the upstream did not send it', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(sse(['Hi'], { done: false }));
    const answer = await gateway.post(STREAM);
    expect(answer.complete).toBe(true);
    expect(answer.text()).not.toContain('[DONE]');
  });

  test('inside a text does not end the stream', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(sse(['say [DONE]', ' and data: [DONE]', ' more']));
    const answer = await gateway.post(STREAM);
    expect(answer.text()).toContain(' more');
    expect(answer.text().match(/\n\ndata: \[DONE\]\n\n$/)).not.toBeNull();
  });

  test('ends the answer even if the upstream keeps the connection open', async () => {
    const gateway = await startGateway();
    const never = deferred<void>();
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, HEADERS);
      await exchange.chunk(`data: ${content('a')}\n\ndata: [DONE]\n\n`);
      await exchange.until(never.promise);
    });
    const answer = await gateway.post(STREAM);
    expect([answer.complete, answer.text()]).toEqual([true, `data: ${content('a')}\n\ndata: [DONE]\n\n`]);
    never.resolve();
  });
});

describe('a stream that breaks off', () => {
  test.each(['reset', 'close'] as const)(
    'by a %s: the client gets what came, and no proper end',
    async (end) => {
      const gateway = await startGateway();
      const gate = createGate();
      gateway.upstream.queue(cut({ afterChunks: 3, end, pace: gate.pass }));
      const connection = await gateway.open(STREAM);
      gate.open(4);
      await connection.bodyUntil('word2');
      gate.openForGood();
      const answer = await connection.response();
      expect(answer.complete).toBe(false);
      expect(answer.text()).toContain('word2');
      expect(answer.text()).not.toMatch(/\[DONE\]|finish_reason":"/);
      const [record] = await gateway.settled(1);
      expect(record).toMatchObject({ outcome: 'upstream_failed', status: 200 });
      expect(record?.flags).toContain('estimated');
      connection.hangUp();
    },
  );

  test('for a slow reader: it gets what came, an error, and then the cut', async () => {
    const gateway = await startGateway();
    const event = Buffer.from(`data: ${content('x', { padding: 'x'.repeat(60_000) })}\n\n`);
    gateway.upstream.queue(async (exchange: Exchange) => {
      await exchange.body;
      await exchange.start(200, HEADERS);
      for (let i = 0; i < 40; i++) await exchange.chunk(event);
      exchange.close();
    });
    const connection = await gateway.open(STREAM);
    connection.pause();
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed' }]);
    connection.resume();
    const answer = await connection.response();
    const end = answer.body.subarray(40 * event.length).toString();
    expect(answer.complete).toBe(false);
    expect(JSON.parse(end.slice('data: '.length))).toMatchObject({ error: { code: 'upstream_failed' } });
    connection.hangUp();
  });

  test('within an event: the client gets the bytes of that event too', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(async (exchange: Exchange) => {
      await exchange.body;
      await exchange.start(200, HEADERS);
      await exchange.chunk(`data: ${content('a')}\n\ndata: {"choi`);
      exchange.close();
    });
    const answer = await gateway.post(STREAM);
    expect([answer.complete, answer.text()]).toEqual([false, `data: ${content('a')}\n\ndata: {"choi`]);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'upstream_failed' }]);
  });

  test('events that are not JSON pass unchanged, and do not count as an answer', async () => {
    const gateway = await startGateway();
    gateway.upstream.queue(malformedSse());
    const answer = await gateway.post(STREAM);
    const came =
      'data: {"id":"chatcmpl-test","choices":[{"del\n\ndata: no json\n\nno field\n\ndata:\n\n: hm\n\n';
    expect(answer.text().slice(0, came.length)).toBe(came);
    expect(answer.text().slice(came.length)).toContain('"code":"upstream_failed"');
    expect(answer.complete).toBe(false);
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'upstream_failed', status: 200, flags: ['stream', 'estimated'] },
    ]);
  });

  test('an error event passes, and the record says upstream_error', async () => {
    const gateway = await startGateway();
    const error = '{"error":{"message":"overloaded","type":"server_error","code":null,"param":null}}';
    const bytes = `data: ${content('a')}\n\nevent: error\ndata: ${error}\n\n`;
    gateway.upstream.queue(pieces(Buffer.from(bytes)));
    expect((await gateway.post(STREAM)).text()).toBe(bytes);
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'upstream_error', detail: { error: 'overloaded' } },
    ]);
  });
});

describe('pace', () => {
  test('each event is sent as it arrives', async () => {
    const gateway = await startGateway();
    const gate = createGate();
    gateway.upstream.queue(sse(['one', 'two', 'three'], { pace: gate.pass }));
    const connection = await gateway.open(STREAM);
    gate.open();
    await connection.bodyUntil('assistant');
    for (const word of ['one', 'two', 'three']) {
      await gate.reached();
      gate.open();
      await connection.bodyUntil(word);
    }
    gate.openForGood();
    expect((await connection.response()).complete).toBe(true);
    connection.hangUp();
  });

  test('a client that does not read pauses the upstream', async () => {
    const gateway = await startGateway();
    const event = Buffer.from(`data: ${content('x', { padding: 'x'.repeat(60_000) })}\n\n`);
    const events = 700;
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, HEADERS);
      for (let i = 0; i < events; i++) await exchange.chunk(event);
      await exchange.chunk('data: [DONE]\n\n');
      await exchange.finish();
    });
    const connection = await gateway.open(STREAM);
    connection.pause();
    const { progress } = await gateway.upstream.nextRequest();
    const before = process.memoryUsage().rss;
    expect(await steady(() => progress.bodyBytes)).toBeLessThan(25_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    connection.resume();
    const answer = await connection.response();
    expect([answer.complete, answer.body.length]).toEqual([true, events * event.length + 14]);
    connection.hangUp();
  }, 20_000);

  test('an event of 3 MB passes', async () => {
    const gateway = await startGateway();
    const bytes = Buffer.from(
      `data: ${content('é'.repeat(1_500_000))}\n\ndata: ${usageEvent()}\n\ndata: [DONE]\n\n`,
    );
    gateway.upstream.queue(pieces(bytes, ...Array.from({ length: 46 }, (_, i) => i * 65_536)));
    const answer = await gateway.post(ASKED);
    expect(answer.body.equals(bytes)).toBe(true);
    expect(await gateway.settled(1)).toMatchObject([{ inputTokens: 20, outputTokens: 10 }]);
  });
});

test('plain JSON in answer to a streaming request passes as plain JSON', async () => {
  const gateway = await startGateway();
  gateway.upstream.queue(completion({ usage: USAGE }));
  const answer = await gateway.post({ ...STREAM, model: MODEL });
  expect(answer.json()).toMatchObject({ object: 'chat.completion' });
  expect(await gateway.records()).toMatchObject([{ inputTokens: 20, outputTokens: 10 }]);
  await until(() => gateway.holds() === 0);
});
