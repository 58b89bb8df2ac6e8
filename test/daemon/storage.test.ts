import { describe, expect, test } from 'vitest';
import { createGate } from '../support/gate.ts';
import { PLAIN, STREAM, startGateway, until } from '../support/gateway.ts';
import { json } from '../support/scripts.ts';
import { sse } from '../support/sse-scripts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

/** Longer than gw waits for another process's write lock. */
const TOO_LONG_MS = 6_000;
const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };

async function lockable() {
  const clock = createVirtualClock(Date.now());
  const gateway = await startGateway({
    clock,
    budget: { period: 'daily', capUsd: 1 },
    mayLog: /a background job failed/,
  });
  /** Lets gw's retries fail until their effect shows. */
  async function outlast<T>(answer: Promise<T>): Promise<T> {
    let done = false;
    void answer.finally(() => {
      done = true;
    });
    await until(async () => {
      await clock.advance(TOO_LONG_MS);
      return done;
    });
    return answer;
  }
  return {
    gateway,
    clock,
    outlast,
    lock: () => gateway.db.exec('BEGIN IMMEDIATE'),
    unlock: () => gateway.db.exec('ROLLBACK'),
  };
}

describe('a database that another process has locked', () => {
  test('forwards nothing that gw cannot record, and serves again after the lock', async () => {
    const { gateway, outlast, lock, unlock } = await lockable();
    lock();
    for (const body of [PLAIN, STREAM]) {
      const answer = await outlast(gateway.post({ ...body, max_tokens: 5 }));
      expect(answer.status).toBe(503);
      expect(answer.json()).toMatchObject({
        error: { type: 'api_error', code: 'storage_unavailable', param: null },
      });
    }
    expect(gateway.upstream.requests).toHaveLength(0);
    unlock();
    expect((await gateway.post({ ...PLAIN, max_tokens: 5 })).status).toBe(200);
  });

  test('is waited for if the lock is short', async () => {
    const { gateway, lock, unlock } = await lockable();
    lock();
    const answer = gateway.post({ ...PLAIN, max_tokens: 5 });
    await gateway.get('/health');
    unlock();
    expect((await answer).status).toBe(200);
  });

  test.each([
    ['plain', PLAIN, json(200, { usage: USAGE })],
    ['streaming', STREAM, sse(['Hi'], { usage: USAGE })],
  ])(
    'ends a %s response that cannot be settled yet, keeps its hold, and books it later',
    async (_name, body, script) => {
      const { gateway, clock, outlast, lock, unlock } = await lockable();
      const gate = createGate();
      gateway.upstream.queue(async (exchange) => {
        await gate.pass();
        await script(exchange);
      });
      const answer = gateway.post({ ...body, max_tokens: 2_000 });
      await gateway.upstream.nextRequest();
      await gate.reached();
      lock();
      gate.openForGood();
      const given = await outlast(answer);
      expect([given.status, given.complete]).toEqual([200, true]);
      expect(gateway.holds()).toBe(1);
      unlock();
      await until(async () => {
        await clock.advance(1_000);
        return gateway.holds() === 0;
      });
      expect(await gateway.records()).toMatchObject([
        { inputTokens: 1_000, outputTokens: 500, outcome: 'ok' },
      ]);
      const booked = gateway.db
        .prepare('SELECT posted_nano_usd AS p, pending_nano_usd AS h FROM budget_periods')
        .get();
      expect(booked).toEqual({ p: 1_000 * 1_000 + 500 * 2_000, h: 0 });
    },
  );
});
