import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Relay } from '../../../src/gateway/answer/relay.ts';
import { chunkBody, completionBody, usageOf } from '../../support/chat-shapes.ts';
import { EVENT_STREAM, startRelay, startStream, translation } from '../../support/relay.ts';

const MB = 1024 * 1024;
const MAX_GATHERED_BYTES = 16 * MB;
const JSON_TYPE = { 'content-type': 'application/json' };
const AUDIO = { 'content-type': 'audio/mpeg' };

const contentEvent = (text: string) =>
  Buffer.from(`data: ${JSON.stringify(chunkBody('m', { delta: { content: text } }))}\n\n`);

/** Which receiver a relay has, by what can be seen of it. */
function receiverOf({ isStream, started }: Relay): string {
  if (isStream) return 'event stream';
  return started ? 'passed on' : 'gathered';
}

describe('the head of an answer decides how it is received:', () => {
  test.each<[string, number, Record<string, string>]>([
    ['gathered', 200, JSON_TYPE],
    ['gathered', 200, {}],
    ['gathered', 200, { 'content-type': 'text/html' }],
    ['gathered', 200, { ...JSON_TYPE, 'content-encoding': 'gzip' }],
    ['gathered', 299, JSON_TYPE],
    ['gathered', 302, AUDIO],
    ['gathered', 400, EVENT_STREAM],
    ['gathered', 500, EVENT_STREAM],
    ['event stream', 200, EVENT_STREAM],
    ['event stream', 299, EVENT_STREAM],
    ['event stream', 200, { 'content-type': 'Text/Event-Stream; charset=utf-8' }],
    ['event stream', 200, { ...EVENT_STREAM, 'content-encoding': 'identity' }],
    ['passed on', 200, { ...EVENT_STREAM, 'content-encoding': 'gzip' }],
    ['passed on', 200, AUDIO],
    ['passed on', 200, { 'content-type': 'image/png' }],
    ['passed on', 200, { 'content-type': 'Video/MP4' }],
    ['passed on', 200, { 'content-type': 'application/octet-stream' }],
  ])('%s: %i %j', async (receiver, status, headers) => {
    const { relay, head } = await startRelay();
    head(headers, status);
    expect([receiverOf(relay), relay.status]).toEqual([receiver, status]);
  });

  test.each<[string, Record<string, string>]>([
    ['event stream', EVENT_STREAM],
    ['gathered', { ...EVENT_STREAM, 'content-encoding': 'gzip' }],
    ['gathered', JSON_TYPE],
  ])('%s, if it has to be translated: %j', async (receiver, headers) => {
    const { relay, head } = await startRelay(translation());
    head(headers);
    expect(receiverOf(relay)).toBe(receiver);
  });

  test('the head of a stream is sent before its first event', async () => {
    const { connection } = await startStream();
    const { firstLine, headers } = await connection.head();
    expect(firstLine).toBe('HTTP/1.1 200 OK');
    expect(headers).toContainEqual(['x-service-model', 'm']);
  });

  test('the head of a stream that is held back is not', async () => {
    const { relay, response } = await startStream({ holdsBack: true }, contentEvent(''));
    expect([relay.isStream, relay.started, response.headersSent]).toEqual([true, false, false]);
  });
});

describe('a gathered answer', () => {
  const BODY = Buffer.from(JSON.stringify(completionBody('m', 'Hi', usageOf(10, 5))));

  test('is sent whole by finish(), with its length', async () => {
    const { relay, head, response, connection } = await startRelay();
    head(JSON_TYPE);
    for (const byte of BODY) expect(relay.data(Buffer.from([byte]))).toBe(true);
    relay.readEnd();
    expect([relay.usage, relay.body()]).toEqual([usageOf(10, 5), BODY.toString()]);
    expect(response.headersSent).toBe(false);
    relay.finish();
    const answer = await connection.response();
    expect([answer.status, answer.complete, answer.text()]).toEqual([200, true, BODY.toString()]);
    expect(answer.header('content-length')).toBe(String(BODY.length));
    expect(answer.header('x-service-model')).toBe('m');
  });

  test('is decoded for reading and sent encoded', async () => {
    const { relay, head, connection } = await startRelay();
    const bytes = gzipSync(BODY);
    head({ ...JSON_TYPE, 'content-encoding': 'gzip' });
    relay.data(bytes);
    relay.readEnd();
    expect([relay.isReadable, relay.usage]).toEqual([true, usageOf(10, 5)]);
    relay.finish();
    const answer = await connection.response();
    expect(answer.header('content-encoding')).toBe('gzip');
    expect(answer.body.equals(bytes)).toBe(true);
  });

  test('of status 204 has no length', async () => {
    const { relay, head, connection } = await startRelay();
    head({}, 204);
    relay.finish();
    const answer = await connection.response();
    expect([answer.status, answer.header('content-length')]).toEqual([204, undefined]);
  });

  test('of more than 16 MB is passed on, and its usage is read from its end', async () => {
    const { relay, head, connection } = await startRelay();
    const usage = ',"usage":{"prompt_tokens":10,"completion_tokens":5}}';
    head(JSON_TYPE);
    expect(relay.data(Buffer.alloc(MAX_GATHERED_BYTES, 'x'))).toBe(true);
    expect(receiverOf(relay)).toBe('gathered');
    relay.data(Buffer.from(usage));
    expect(receiverOf(relay)).toBe('passed on');
    relay.readEnd();
    expect(relay.usage).toEqual({ prompt_tokens: 10, completion_tokens: 5 });
    relay.finish();
    const answer = await connection.response();
    expect([answer.complete, answer.body.length]).toEqual([true, MAX_GATHERED_BYTES + usage.length]);
    expect(answer.body.subarray(-usage.length).toString()).toBe(usage);
  });

  test('of more than 16 MB is reported as too long if it has to be translated', async () => {
    const { relay, head, calls, response } = await startRelay(translation());
    head(JSON_TYPE);
    relay.data(Buffer.alloc(MAX_GATHERED_BYTES, ' '));
    expect(calls).toEqual([]);
    relay.data(Buffer.from(' '));
    expect([calls, receiverOf(relay), response.headersSent]).toEqual([['too long'], 'gathered', false]);
  });

  test('is translated by prepare(), which throws if it is not an answer', async () => {
    const { relay, head, connection } = await startRelay(translation());
    head(JSON_TYPE);
    relay.data(BODY);
    relay.prepare();
    relay.finish();
    expect((await connection.response()).json()).toMatchObject({ type: 'message', model: 'm' });
    const encoded = await startRelay(translation());
    encoded.head({ ...EVENT_STREAM, 'content-encoding': 'gzip' });
    encoded.relay.data(Buffer.from('no gzip'));
    expect(encoded.relay.isReadable).toBe(false);
    expect(() => encoded.relay.prepare()).toThrow(expect.objectContaining({ status: 502 }));
  });
});

describe('an answer that is passed on', () => {
  test('is sent as it arrives and ends with finish()', async () => {
    const { relay, head, connection } = await startRelay();
    head(AUDIO);
    relay.data(Buffer.from('abc'));
    expect((await connection.bodyUntil('abc')).toString()).toBe('abc');
    relay.data(Buffer.from('def'));
    relay.finish();
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([true, 'abcdef']);
  });

  test('is incomplete to the client if it is broken off', async () => {
    const { relay, head, connection } = await startRelay();
    head(AUDIO);
    relay.data(Buffer.from('abc'));
    relay.breakOff({ message: 'mock broke off', code: 'upstream_failed' });
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([false, 'abc']);
  });
});

describe('a client that does not read', () => {
  test.each<[string, Record<string, string>, Buffer]>([
    ['an event stream', EVENT_STREAM, contentEvent('x'.repeat(MB))],
    ['what is passed on', AUDIO, Buffer.alloc(MB)],
  ])('pauses %s, which resumes once it reads', async (_name, headers, piece) => {
    const { relay, head, connection, resumed, resumes } = await startRelay();
    connection.pause();
    head(headers);
    let pieces = 1;
    while (relay.data(piece)) pieces++;
    expect(resumes()).toBe(0);
    connection.resume();
    await resumed;
    expect(resumes()).toBe(1);
    relay.finish();
    const answer = await connection.response();
    expect([answer.complete, answer.body.length]).toEqual([true, pieces * piece.length]);
  });
});
