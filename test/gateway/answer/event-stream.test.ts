import { describe, expect, test } from 'vitest';
import type { RelayOptions } from '../../../src/gateway/answer/answer-receiver.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { embeddingsWire } from '../../../src/wire/apis/embeddings.ts';
import { chunkBody, usageOf } from '../../support/chat-shapes.ts';
import { EVENT_STREAM, startRelay, startStream, translation } from '../../support/relay.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const MAX_HELD_BYTES = 64 * 1024;

const event = (data: unknown) =>
  Buffer.from(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
const role = event(chunkBody('m', { delta: { role: 'assistant', content: '' } }));
const content = (text: string) => event(chunkBody('m', { delta: { content: text } }));
const stop = event(chunkBody('m', { finish_reason: 'stop' }));
const DONE = event('[DONE]');
const overloaded = event({ error: { message: 'overloaded', type: 'server_error', code: null } });
const joined = (...parts: Buffer[]) => Buffer.concat(parts).toString();

describe('a stream that is held back', () => {
  test('is released by its first content, with the events before it', async () => {
    const { relay, calls, response, connection } = await startStream({ holdsBack: true }, role);
    expect([relay.started, relay.unsent?.toString(), calls]).toEqual([false, role.toString(), []]);
    relay.data(content('Hi'));
    expect([relay.started, relay.unsent, calls]).toEqual([true, undefined, ['content']]);
    expect(response.headersSent).toBe(true);
    const came = joined(role, content('Hi'));
    expect((await connection.bodyUntil(came.length)).toString()).toBe(came);
  });

  test('is released after 64 kB without content', async () => {
    const comment = (bytes: number) => Buffer.from(`: ${'x'.repeat(bytes - 4)}\n\n`);
    const { relay, calls, connection } = await startStream({ holdsBack: true }, comment(MAX_HELD_BYTES));
    expect([relay.started, calls]).toEqual([false, []]);
    relay.data(comment(10));
    expect([relay.started, calls]).toEqual([true, ['content']]);
    expect(await connection.bodyUntil(MAX_HELD_BYTES + 10)).toHaveLength(MAX_HELD_BYTES + 10);
  });

  test('sends nothing if an error precedes its content', async () => {
    const { relay, calls, response } = await startStream({ holdsBack: true }, role, overloaded);
    expect(calls).toEqual(['closed', 'surplus']);
    expect([relay.started, relay.streamError, relay.isCutShort]).toEqual([false, 'overloaded', false]);
    expect(relay.unsent?.toString()).toBe(joined(role, overloaded));
    expect(response.headersSent).toBe(false);
  });

  test('sends nothing if its closing event precedes its content', async () => {
    const { relay, calls, response } = await startStream({ holdsBack: true }, role, DONE);
    relay.data(Buffer.from(': surplus\n\n'));
    expect([relay.started, calls, response.headersSent]).toEqual([false, ['closed early'], false]);
    expect(relay.unsent?.toString()).toBe(joined(role, DONE));
  });

  test('is released by content without its empty line', async () => {
    const { relay, connection, calls } = await startStream({ holdsBack: true }, role);
    const last = content('Hi').subarray(0, -2);
    relay.data(last);
    expect(relay.started).toBe(false);
    relay.readEnd();
    expect([relay.started, calls]).toEqual([true, ['content']]);
    relay.finish();
    expect((await connection.response()).text()).toBe(joined(role, last));
  });
});

describe('the closing event of a stream', () => {
  test('waits for finish()', async () => {
    const { relay, calls, sizes, response, connection } = await startStream({}, role, content('Hi'), DONE);
    expect(calls).toEqual(['closed early']);
    expect(sizes).toEqual([role.length, joined(role, content('Hi')).length, sizes[1]]);
    expect([relay.closingEvent.toString(), response.writableEnded]).toEqual([DONE.toString(), false]);
    const came = joined(role, content('Hi'));
    expect((await connection.bodyUntil(came.length)).toString()).toBe(came);
    relay.finish();
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([true, came + DONE]);
  });

  test('is not sent if the stream is broken off instead', async () => {
    const { relay, connection } = await startStream({}, content('Hi'), DONE);
    relay.breakOff();
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([false, content('Hi').toString()]);
  });

  test('is followed by the bytes behind it until the answer has ended', async () => {
    const [first, second, late] = [': one\n\n', ': two\n\n', ': three\n\n'].map((text) => Buffer.from(text));
    const { relay, calls, connection } = await startStream(
      {},
      Buffer.concat([content('Hi'), DONE, first ?? DONE]),
      second ?? DONE,
    );
    expect(calls).toEqual(['closed early']);
    relay.finish();
    relay.data(late ?? DONE);
    expect(calls).toEqual(['closed early', 'surplus']);
    expect((await connection.response()).text()).toBe(`${content('Hi')}${DONE}${first}${second}`);
  });

  test('is translated; bytes behind it are dropped', async () => {
    const { relay, connection } = await startStream(
      translation(),
      role,
      content('Hi'),
      stop,
      Buffer.concat([DONE, Buffer.from(': one')]),
      Buffer.from(': two\n\n'),
    );
    relay.finish();
    const text = (await connection.response()).text();
    expect(text).toMatch(/^event: message_start\n/);
    expect(text).toMatch(/event: message_stop\n.*\n\n$/);
    expect(text.match(/message_stop/g)).toHaveLength(2);
    expect(text).not.toMatch(/: (one|two)/);
  });
});

describe('finishAtLimit()', () => {
  const booked = { ...NO_USAGE, inputTokens: 10, outputTokens: 50 };

  test.each([
    ['with the booked usage', false],
    ['without the usage if the client did not ask for it', true],
  ])('ends a stream in the form of its API, %s', async (_name, hideUsage) => {
    const { relay, connection } = await startStream({ mayStop: true, hideUsage }, role, content('Hi'));
    relay.finishAtLimit(booked);
    const answer = await connection.response();
    expect(answer.complete).toBe(true);
    expect(answer.text().startsWith(joined(role, content('Hi')))).toBe(true);
    expect(answer.text()).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s);
    expect(answer.text().includes('"completion_tokens":50')).toBe(!hideUsage);
  });

  test('ends a stream that is too long to be buffered', async () => {
    const long = content('x'.repeat(100_000));
    const { relay, connection, head } = await startRelay({ mayStop: true });
    head(EVENT_STREAM);
    for (let i = 0; i < 3; i++) relay.data(long);
    expect(relay.lastEvents?.length).toBeLessThan(3 * long.length);
    relay.finishAtLimit(booked);
    expect((await connection.response()).text()).toContain('"finish_reason":"length"');
  });

  test.each<[string, Partial<RelayOptions>]>([
    ['that was not to be stopped', { mayStop: false }],
    ['of an API without such an ending', { mayStop: true, wire: embeddingsWire }],
  ])('breaks a stream off %s', async (_name, options) => {
    const { relay, connection } = await startStream(options, content('Hi'));
    relay.finishAtLimit(booked);
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([false, content('Hi').toString()]);
  });
});

describe('breakOff()', () => {
  const fault = { message: 'mock broke off', code: 'upstream_failed' };
  const half = Buffer.from('data: {"choi');

  test('sends an error event behind the last event', async () => {
    const { relay, connection } = await startStream({}, content('Hi'));
    relay.breakOff(fault);
    const answer = await connection.response();
    expect(answer.complete).toBe(false);
    const last = answer.text().slice(content('Hi').length);
    expect(JSON.parse(last.slice('data: '.length))).toMatchObject({ error: fault });
  });

  test('sends no error event into an event that has begun', async () => {
    const { relay, connection } = await startStream({}, content('Hi'), half);
    relay.breakOff(fault);
    const answer = await connection.response();
    expect([answer.complete, answer.text()]).toEqual([false, joined(content('Hi'), half)]);
  });

  test('drops half an event of a translated stream and sends an error event of the client API', async () => {
    const { relay, connection } = await startStream(translation(), role, content('Hi'), half);
    relay.breakOff(fault);
    const answer = await connection.response();
    expect(answer.complete).toBe(false);
    expect(answer.text()).not.toContain('choi');
    const last = answer.text().trim().split('\n\n').at(-1);
    expect(last).toBe(
      `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message: fault.message } })}`,
    );
  });
});

describe('what the relay knows of a stream', () => {
  test('unended is the beginning of an event that has not ended', async () => {
    const { relay } = await startStream({}, content('Hi'));
    expect(relay.unended).toBe('');
    relay.data(Buffer.from('data: {"choi'));
    expect(relay.unended).toBe('data: {"choi');
    const closed = await startStream({}, Buffer.concat([content('Hi'), DONE, Buffer.from('data: {')]));
    expect(closed.relay.unended).toBe('');
  });

  test.each<[string, Buffer[], boolean]>([
    ['its content', [role, content('Hi')], true],
    ['its closing event', [content('Hi'), DONE], false],
    ['a reason to stop, without [DONE]', [content('Hi'), stop], false],
    ['its usage', [content('Hi'), event(chunkBody('m', undefined, { usage: usageOf(1, 1) }))], false],
    ['an error', [content('Hi'), overloaded], false],
  ])('isCutShort after %s', async (_name, events, isCutShort) => {
    const { relay } = await startStream({}, ...events);
    relay.readEnd();
    expect(relay.isCutShort).toBe(isCutShort);
  });

  test('isCutShort is false if the API has no sign of an end, and if nothing was sent', async () => {
    const other = await startStream({ wire: embeddingsWire }, content('Hi'));
    const held = await startStream({ holdsBack: true }, role);
    expect([other.relay.isCutShort, held.relay.isCutShort]).toEqual([false, false]);
  });

  test('lastEvents are all of a short stream, and at least the last one of a long', async () => {
    const { relay } = await startStream({}, role, content('Hi'), DONE);
    expect(relay.lastEvents?.toString()).toBe(joined(role, content('Hi'), DONE));
    const long = await startRelay();
    long.head(EVENT_STREAM);
    for (const each of [content('x'.repeat(300_000)), DONE]) long.relay.data(each);
    expect(long.relay.lastEvents?.equals(Buffer.concat([content('x'.repeat(300_000)), DONE]))).toBe(true);
    expect(long.relay.receivedText().join('')).toHaveLength(300_000);
  });

  test('its usage, hidden from a client that did not ask for it', async () => {
    const usage = event(chunkBody('m', undefined, { usage: usageOf(10, 5) }));
    const { relay, connection } = await startStream({ hideUsage: true }, content('Hi'), usage, DONE);
    expect(relay.usage).toEqual(usageOf(10, 5));
    relay.finish();
    expect((await connection.response()).text()).toBe(joined(content('Hi'), DONE));
  });
});

test('a translated stream is begun, and shows that it lives, while its provider is silent', async () => {
  const clock = createVirtualClock();
  const { relay, connection } = await startStream({ ...translation(), after: clock.after });
  const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
  clock.advanceNow(999);
  clock.advanceNow(1);
  clock.advanceNow(15_000);
  relay.data(role);
  relay.data(content('Hi'));
  clock.advanceNow(15_000);
  clock.advanceNow(15_000);
  relay.data(stop);
  relay.data(DONE);
  relay.readEnd();
  relay.finish();
  expect(clock.timers).toBe(0);
  const text = (await connection.response()).text();
  expect(text.split(ping)).toHaveLength(4);
  expect(text.split('message_start"')).toHaveLength(2);
  expect(text.indexOf('message_start')).toBeLessThan(text.indexOf(ping));
  expect(text).toContain('message_stop');
});
