import { describe, expect, test } from 'vitest';
import { createGate } from '../../support/gate.ts';
import { PLAIN, STREAM, startGateway, type TestGateway, until } from '../../support/gateway.ts';
import { metered } from '../../support/metered.ts';
import { hang, json, type Script } from '../../support/scripts.ts';

const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };
const EVENTS = { 'content-type': 'text/event-stream' };

/** Sends a request whose client hangs up once the provider has it. */
async function abandoned(gateway: TestGateway, body: object, script: Script) {
  gateway.upstream.queue(script);
  const connection = await gateway.open({ ...body, max_tokens: 500 });
  const seen = await gateway.upstream.nextRequest();
  connection.hangUp();
  // The gateway has noticed when it answers on another connection.
  await gateway.get('/health');
  return seen;
}

function filler(bytes: number): string {
  return `data: ${JSON.stringify({ choices: [{ delta: {}, padding: 'x'.repeat(bytes) }] })}\n\n`;
}

describe('an answer whose client has hung up', () => {
  test('is read on at the pace of the provider, if the client had paused it', async () => {
    const gateway = await startGateway(BUDGET);
    gateway.upstream.queue(async (exchange) => {
      await exchange.body;
      await exchange.start(200, EVENTS);
      for (let i = 0; i < 300; i++) await exchange.chunk(filler(60_000));
      const usage = { prompt_tokens: 5, completion_tokens: 9 };
      await exchange.chunk(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
      await exchange.finish();
    });
    const connection = await gateway.open({ ...STREAM, max_tokens: 500 });
    connection.pause();
    const seen = await gateway.upstream.nextRequest();
    await until(() => seen.progress.bodyBytes > 5_000_000);
    connection.hangUp();
    await seen.done;
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'client_gone', status: 200, flags: ['stream'], outputTokens: 9 },
    ]);
  });

  test('is given up after 64 MB, and booked at its limit', async () => {
    const gateway = await startGateway(BUDGET);
    const seen = await abandoned(gateway, STREAM, async (exchange) => {
      await exchange.body;
      await exchange.start(200, EVENTS);
      for (;;) await exchange.chunk(filler(1_000_000));
    });
    await seen.done;
    expect(seen.progress.bodyBytes).toBeGreaterThan(64 * 1024 * 1024);
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'client_gone', flags: ['stream', 'estimated'], outputTokens: 500 },
    ]);
  });

  test('ends at the idle limit, and is booked at its limit', async () => {
    const gateway = await startGateway({ ...BUDGET, settings: { 'upstream.idle_timeout_ms': 100 } });
    const seen = await abandoned(gateway, STREAM, async (exchange) => {
      await exchange.start(200, EVENTS);
      await exchange.chunk(filler(1));
      await exchange.untilGone();
    });
    await seen.done;
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'client_gone', flags: ['stream', 'estimated'], outputTokens: 500 },
    ]);
  });

  test('ends at the limit for the first byte, if its head never comes, and frees its hold', async () => {
    const settings = { 'upstream.first_byte_timeout_ms': 100 };
    const gateway = await startGateway({ ...BUDGET, settings });
    await abandoned(gateway, PLAIN, hang());
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'client_gone', outputTokens: 500 }]);
    expect(gateway.holds()).toBe(0);
  });

  test('holds its money until its end', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 0.0015 } });
    const gate = createGate();
    await abandoned(gateway, PLAIN, metered({ tokens: 100, perTick: 100, tick: gate.pass }));
    gateway.upstream.queue(json(200, { choices: [{}], usage: { prompt_tokens: 5, completion_tokens: 1 } }));
    const waiting = gateway.post({ ...PLAIN, max_tokens: 500 });
    await gateway.get('/health');
    expect(gateway.upstream.requests).toHaveLength(1);
    gate.openForGood();
    expect((await waiting).status).toBe(200);
  });
});

describe('a daemon that stops', () => {
  test('reads an abandoned answer to its end within the grace period', async () => {
    const gateway = await startGateway(BUDGET);
    const gate = createGate();
    await abandoned(gateway, STREAM, metered({ tokens: 7, perTick: 7, tick: gate.pass }));
    const stopped = gateway.daemon.stop({ graceMs: 60_000 });
    gate.openForGood();
    await stopped;
    expect(await gateway.records()).toMatchObject([
      { outcome: 'client_gone', flags: ['stream'], outputTokens: 7 },
    ]);
  });

  test.each([
    ['stream', STREAM],
    ['answer', PLAIN],
  ])(
    'cuts an abandoned %s after it, as it cuts one with a client, and books both at the limit',
    async (_, body) => {
      const gateway = await startGateway(BUDGET);
      gateway.upstream.queue(hang());
      const connection = await gateway.open({ ...body, max_tokens: 500 });
      await gateway.upstream.nextRequest();
      await abandoned(gateway, body, hang());
      await gateway.daemon.stop({ graceMs: 20 });
      const records = await gateway.records();
      expect(records.map(({ outcome, status, outputTokens }) => [outcome, status, outputTokens])).toEqual([
        ['client_gone', 499, 500],
        ['client_gone', 499, 500],
      ]);
      expect(gateway.holds()).toBe(0);
      connection.hangUp();
    },
  );
});
