import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openConnection, requestBytes } from '../support/client.ts';
import { createGate, every } from '../support/gate.ts';
import { PLAIN, STREAM, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { metered } from '../support/metered.ts';
import { namedHost } from '../support/named-host.ts';
import { seededRandom } from '../support/random.ts';
import { hang, respond } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { startUpstream } from '../support/upstream.ts';

const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };

function balance({ db }: TestGateway) {
  return db
    .prepare('SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods')
    .get() as { posted: number; pending: number };
}

/** The only record, once the abandoned request has been settled. */
async function goneRecord(gateway: TestGateway) {
  const [record, ...others] = await gateway.settled(1);
  expect(others).toEqual([]);
  expect(record?.outcome).toBe('client_gone');
  if (!record) throw new Error('nothing is on record');
  expect(balance(gateway)).toEqual({ posted: record.costNanoUsd, pending: 0 });
  expect(record.costNanoUsd).toBeLessThanOrEqual(record.holdNanoUsd);
  return record;
}

describe('a client that does not read its answer', () => {
  const IDLE = { ...BUDGET, settings: { 'limits.client_idle_ms': 100 } };
  const event = `data: ${JSON.stringify({ choices: [{ delta: { content: 'word '.repeat(10_000) } }] })}\n\n`;

  test('is cut off, and its request is settled', async () => {
    const gateway = await startGateway(IDLE);
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, { 'content-type': 'text/event-stream' });
      for (;;) await exchange.chunk(event);
    });
    const connection = await gateway.open({ ...STREAM, max_tokens: 4_000_000 });
    const seen = await gateway.upstream.nextRequest();
    await connection.head();
    connection.pause();
    await seen.done;
    expect(await goneRecord(gateway)).toMatchObject({ status: 200, flags: ['stream', 'estimated'] });
    connection.hangUp();
  });
});

describe.each(['hangUp', 'end'] as const)('a client that leaves (%s)', (leave) => {
  test('while it sends its body leaves nothing behind', async () => {
    const gateway = await startGateway(BUDGET);
    const headers = { authorization: `Bearer ${gateway.key}` };
    const bytes = requestBytes(`${gateway.url}/complete`, { body: PLAIN, headers });
    const connection = await openConnection(gateway.url);
    await connection.send(bytes.subarray(0, bytes.length - 5));
    await gateway.get('/health');
    connection[leave]();
    await connection.closed;
    await gateway.get('/health');
    expect([gateway.holds(), await gateway.records(), gateway.upstream.requests]).toEqual([0, [], []]);
  });

  test('before the head of its answer pays for exactly what the provider generates', async () => {
    const gateway = await startGateway(BUDGET);
    const gate = createGate();
    gateway.upstream.queue(metered({ tokens: 7, perTick: 7, tick: gate.pass }));
    const connection = await gateway.open({ ...PLAIN, max_tokens: 500 });
    const seen = await gateway.upstream.nextRequest();
    connection[leave]();
    await gateway.get('/health');
    expect(gateway.holds()).toBe(1);
    gate.openForGood();
    await seen.done;
    expect(seen.hungUp).toBeUndefined();
    expect(await goneRecord(gateway)).toMatchObject({ status: 499, flags: [], outputTokens: 7 });
  });

  test('before the first event of a stream pays for exactly what the provider generates', async () => {
    const gateway = await startGateway(BUDGET);
    const gate = createGate();
    gateway.upstream.queue(sse(['one'], { pace: gate.pass }));
    const connection = await gateway.open({ ...STREAM, max_tokens: 500 });
    await connection.head();
    connection[leave]();
    await gateway.get('/health');
    gate.openForGood();
    expect(await goneRecord(gateway)).toMatchObject({ status: 200, flags: ['stream'], outputTokens: 1 });
  });

  test('in mid-stream pays for exactly what the provider generates', async () => {
    const gateway = await startGateway(BUDGET);
    const ticks = createGate();
    gateway.upstream.queue(metered({ tokens: 1000, perTick: 5, tick: ticks.pass }));
    const connection = await gateway.open({ ...STREAM, max_tokens: 2000 });
    ticks.open(4);
    await ticks.reached();
    await connection.bodyUntil('tok tok');
    connection[leave]();
    await gateway.get('/health');
    expect(gateway.holds()).toBe(1);
    ticks.openForGood();
    expect(await goneRecord(gateway)).toMatchObject({ status: 200, flags: ['stream'], outputTokens: 1000 });
  });

  test.each([
    ['stream', STREAM, 200, ['stream', 'estimated']],
    ['answer', PLAIN, 499, ['estimated']],
  ])('pays for the whole limit if the provider breaks the %s off', async (_, body, status, flags) => {
    const gateway = await startGateway(BUDGET);
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      if ('stream' in body) await exchange.start(200, { 'content-type': 'text/event-stream' });
      await gate.pass();
      exchange.reset();
    });
    const connection = await gateway.open({ ...body, max_tokens: 500 });
    await gateway.upstream.nextRequest();
    if ('stream' in body) await connection.head();
    connection[leave]();
    await gateway.get('/health');
    gate.open();
    expect(await goneRecord(gateway)).toMatchObject({ status, flags, outputTokens: 500 });
  });

  test('pays nothing for an error', async () => {
    const gateway = await startGateway(BUDGET);
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await gate.pass();
      await respond(500, {}, 'no')(exchange);
    });
    const connection = await gateway.open({ ...PLAIN, max_tokens: 500 });
    await gateway.upstream.nextRequest();
    connection[leave]();
    await gateway.get('/health');
    gate.open();
    expect(await goneRecord(gateway)).toMatchObject({ status: 499, flags: [], costNanoUsd: 0 });
  });

  test.each([
    ['stream', STREAM],
    ['answer', PLAIN],
  ])('ends the %s of a model without a price at once', async (_, body) => {
    const gateway = await startGateway({ price: { input: 0, output: 0 } });
    gateway.upstream.queue(hang());
    const connection = await gateway.open(body);
    const seen = await gateway.upstream.nextRequest();
    connection[leave]();
    await seen.done;
    expect(seen.hungUp).toBeDefined();
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'client_gone', costNanoUsd: 0 }]);
  });

  test('after the end is not recorded as gone', async () => {
    const gateway = await startGateway(BUDGET);
    const connection = await gateway.open({ ...STREAM, max_tokens: 2000 });
    await connection.bodyUntil('[DONE]');
    connection[leave]();
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'ok' }]);
  });

  test('while it waits for room is dropped from the queue, and nothing is sent', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 0.001 } });
    const gate = createGate();
    gateway.upstream.queue(metered({ tokens: 1, perTick: 1, tick: gate.pass }));
    const first = await gateway.open({ ...PLAIN, max_tokens: 400 });
    await gateway.upstream.nextRequest();
    const second = await gateway.open({ ...PLAIN, max_tokens: 400 });
    await gateway.get('/health');
    second[leave]();
    await second.closed;
    gate.openForGood();
    expect((await first.response()).status).toBe(200);
    const records = await gateway.settled(2);
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual(
      expect.arrayContaining([
        ['ok', 200],
        ['client_gone', 499],
      ]),
    );
    expect(records.find(({ outcome }) => outcome === 'client_gone')).toMatchObject({
      costNanoUsd: 0,
      flags: [],
    });
    expect(gateway.upstream.requests).toHaveLength(1);
    first.hangUp();
  });
});

test('50 clients that leave at once: each answer is read to its end, and booked as billed', async () => {
  const gateway = await startGateway(BUDGET);
  const ticks = createGate();
  gateway.upstream.script(metered({ tokens: 60, perTick: 10, tick: ticks.pass }));
  const connections = await Promise.all(
    Array.from({ length: 50 }, (_, i) => gateway.open({ ...(i % 2 ? STREAM : PLAIN), max_tokens: 100 })),
  );
  const seen = await Promise.all(connections.map(() => gateway.upstream.nextRequest()));
  ticks.open(100);
  await ticks.reached();
  for (const connection of connections) connection.hangUp();
  await gateway.get('/health');
  ticks.openForGood();
  await Promise.all(seen.map(({ done }) => done));
  const records = await gateway.settled(50);
  expect(records.every(({ outcome }) => outcome === 'client_gone')).toBe(true);
  expect(records.map(({ outputTokens }) => outputTokens)).toEqual(Array(50).fill(60));
  expect(seen.every(({ hungUp }) => hungUp === undefined)).toBe(true);
  expect(balance(gateway).pending).toBe(0);
});

test('a slow reader that leaves with bytes in flight is settled', async () => {
  const gateway = await startGateway();
  const event = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(60_000)}"}}]}\n\n`);
  gateway.upstream.queue(async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (;;) await exchange.chunk(event);
  });
  const connection = await gateway.open(STREAM);
  connection.pause();
  const seen = await gateway.upstream.nextRequest();
  await until(() => seen.progress.bodyBytes > 5_000_000);
  connection.hangUp();
  await seen.done;
  expect(await gateway.settled(1)).toMatchObject([{ outcome: 'client_gone' }]);
});

test('100 clients that leave right after their request: what was never sent costs nothing', async () => {
  const gateway = await startGateway(BUDGET);
  // Which of them are sent before their client is seen to have left differs by Node's release.
  const gate = createGate();
  gateway.upstream.script(async (exchange) => {
    await gate.pass();
    exchange.reset();
  });
  const body = { ...PLAIN, max_tokens: 100 };
  for (let i = 0; i < 100; i++) (await gateway.open(body)).hangUp();
  await gateway.get('/health');
  gate.openForGood();
  await until(() => gateway.holds() === 0);
  const records = await gateway.records();
  expect(records.every(({ outcome }) => outcome === 'client_gone')).toBe(true);
  expect(gateway.upstream.requests.length).toBeLessThanOrEqual(records.length);
  const billed = records.filter(({ costNanoUsd }) => costNanoUsd > 0);
  expect(billed.length).toBeGreaterThanOrEqual(gateway.upstream.requests.length);
  expect(balance(gateway).pending).toBe(0);
});

const DISCONNECTS = process.env.GW_LONG ? 500 : 30;

test(`${DISCONNECTS} clients that leave at random moments: each is booked for no less than its provider generated`, {
  timeout: 180_000,
}, async () => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  // A host that stops when a client hangs up, where streams are booked by what was seen and by the time.
  const openai = { baseUrl: namedHost('api.openai.com', upstream) };
  const settings = { providers: { openai } };
  const credentials = { mock: 'key', openai: 'key' };
  const budget = { period: 'daily' as const, capUsd: 1_000 };
  const gateway = await startGateway({ upstream, settings, credentials, budget });
  const providerOf = (i: number) => (i % 4 > 1 ? 'openai' : 'mock');
  for (let i = 0; i < DISCONNECTS; i++) {
    const price = { inputPicoUsd: 1_000_000, outputPicoUsd: 2_000_000 };
    await gateway.setPrice({ provider: providerOf(i), model: `gpt-4o-${i}`, ...price });
  }
  const random = seededRandom(process.env.GW_SEED ?? 'disconnects');
  // 500 tokens a second, the fastest rate that gw assumes.
  gateway.upstream.script(metered({ tokens: 400, perTick: 1, tick: every(2, systemClock) }));
  const leave = async (i: number) => {
    const body = i % 2 ? STREAM : PLAIN;
    const model = `${providerOf(i)}/gpt-4o-${i}`;
    const connection = await gateway.open({ ...body, model, max_tokens: 10_000 });
    // Most leave after the provider has a request.
    if (i % 5) await gateway.upstream.nextRequest();
    // The moment is a point in time, so only a timer can choose it.
    await setTimeout(random(1).readUInt8());
    connection.hangUp();
  };
  for (let i = 0; i < DISCONNECTS; i += 20) {
    await Promise.all(Array.from({ length: Math.min(20, DISCONNECTS - i) }, (_, j) => leave(i + j)));
  }
  await gateway.get('/health');
  await until(() => gateway.holds() === 0);
  const records = new Map((await gateway.records()).map((record) => [record.model, record]));
  await Promise.all(gateway.upstream.requests.map(({ done }) => done));
  for (const { body, hungUp, progress } of gateway.upstream.requests) {
    const { model, stream } = JSON.parse(body.toString());
    const record = records.get(model);
    expect(record).toMatchObject({ outcome: 'client_gone' });
    const isCut = stream === true && record?.provider === 'openai';
    expect([model, record?.flags.includes('estimated')]).toEqual([model, isCut]);
    if (!isCut) expect([model, hungUp, record?.outputTokens]).toEqual([model, undefined, 400]);
    expect([model, (record?.outputTokens ?? 0) >= progress.outputTokens]).toEqual([model, true]);
  }
  expect(gateway.upstream.requests.length).toBeGreaterThan(DISCONNECTS / 2);
  const bookedByTime = [...records.values()].filter(({ outputTokens }) => outputTokens < 10_000);
  expect(bookedByTime.length).toBeGreaterThan(0);
  await gateway.stop();
});
