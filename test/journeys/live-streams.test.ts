import { expect, test } from 'vitest';
import type { DashboardView } from '../../src/operations/schemas/dashboard.ts';
import { createGate } from '../support/gate.ts';
import { STREAM, startAlone, type TestGateway, until } from '../support/gateway.ts';
import { metered } from '../support/metered.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const PER_TICK = 25;

const admin = ({ adminKey }: TestGateway) => ({ authorization: `Bearer ${adminKey}` });

test('what streams bring is seen live while a dashboard is open, and noted for nobody else', async () => {
  const clock = createVirtualClock();
  const gateway = await startAlone({ budget: { period: 'daily', capUsd: 10 }, clock });
  await gateway.newProject('web');
  const keys = [gateway.key, await gateway.newKey('web')];
  const streams = [];
  for (const key of keys) {
    const gate = createGate();
    gateway.upstream.queue(metered({ tokens: 1_000, perTick: PER_TICK, tick: gate.pass }));
    const headers = { authorization: `Bearer ${key}` };
    const connection = await gateway.open({ ...STREAM, max_tokens: 2_000 }, { headers });
    /** Lets the provider say more, and waits until the client has all of it. */
    const say = async (ticks: number, tokensInAll: number) => {
      gate.open(ticks);
      let body = '';
      while (body.split('tok ').length - 1 < tokensInAll)
        body = String(await connection.bodyUntil(body.length + 1));
    };
    await say(2, PER_TICK * 2);
    streams.push(say);
  }
  const notedAt = () =>
    gateway.db.prepare<[], number>('SELECT saved_at FROM route_health WHERE id = 6').pluck().get();
  const running = async () => {
    const answer = await gateway.get('/v1/gw/dashboard', admin(gateway));
    return (answer.json() as { data: DashboardView }).data.running;
  };

  await clock.advance(60_000);
  expect(notedAt()).toBeUndefined();
  expect(await running()).toMatchObject([
    { project: 'default', output_tokens: null, tokens_per_second: null, used_nano_usd: null },
    { project: 'web', output_tokens: null },
  ]);

  await clock.advance(5_000);
  await until(() => notedAt() !== undefined);
  const [first, second] = await running();
  expect([first?.output_tokens, second?.output_tokens]).toEqual([PER_TICK * 2, PER_TICK * 2]);
  await streams[1]?.(4, PER_TICK * 6);
  await clock.advance(1_000);
  await until(() => notedAt() === clock.now());
  const later = await running();
  expect(later).toMatchObject([
    { project: 'default', output_tokens: PER_TICK * 2, tokens_per_second: 0 },
    { project: 'web', output_tokens: PER_TICK * 6, tokens_per_second: PER_TICK * 4 },
  ]);
  for (const { used_nano_usd: used, held_nano_usd: held } of later) {
    expect(used).toBeGreaterThan(0);
    expect(used).toBeLessThan(held);
  }

  // The dashboard is closed.
  await clock.advance(20_000);
  const last = notedAt();
  await clock.advance(60_000);
  expect(notedAt()).toBe(last);
  expect(await running()).toMatchObject([{ output_tokens: null }, { output_tokens: null }]);
  for (const say of streams) await say(1_000 / PER_TICK, 1_000);
});
