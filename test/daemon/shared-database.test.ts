import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { openConnection, requestBytes } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { hang, reset } from '../support/scripts.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const TEN_CENTS = { ...PLAIN, max_tokens: 1 };

describe('two daemons with separate homes on one database', () => {
  async function two(capUsd: number): Promise<[TestGateway, TestGateway]> {
    const database = join(tmpHome(), 'shared.db');
    const price = { input: 0, output: 100_000 };
    const first = await startGateway({ database, price, budget: { period: 'daily', capUsd } });
    return [first, await startGateway({ database, price })];
  }

  test('share one cap', { timeout: 30_000 }, async () => {
    const gateways = await two(5);
    for (const { upstream } of gateways) upstream.script(completion({ usage: usageOf(5, 1) }));
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => (gateways[i % 2] ?? gateways[0]).post(TEN_CENTS)),
    );
    const by = (code: number) => answers.filter(({ status }) => status === code).length;
    expect([by(200), by(402)]).toEqual([50, 70]);
    const [first, second] = gateways;
    expect(first.upstream.requests.length + second.upstream.requests.length).toBe(50);
    expect(
      first.db.prepare('SELECT posted_nano_usd AS p, pending_nano_usd AS h FROM budget_periods').get(),
    ).toEqual({
      p: 5_000_000_000,
      h: 0,
    });
    expect((await first.settled(120)).length).toBe(120);
    const events = first.db
      .prepare("SELECT count(*) FROM events WHERE type = 'budget.exceeded'")
      .pluck()
      .get();
    expect(events).toBe(1);
  });

  test('do not take each other for dead, and see each other’s keys', async () => {
    const [first, second] = await two(5);
    const slots = first.db.prepare('SELECT slot FROM daemons ORDER BY slot').pluck().all();
    expect(slots).toEqual([0, 1]);
    const answer = await second.post(TEN_CENTS, { headers: { authorization: `Bearer ${first.key}` } });
    expect(answer.status).toBe(200);
  });

  test('wait for room that the other daemon frees', async () => {
    const [first, second] = await two(0.1);
    const gate = createGate();
    first.upstream.queue(reset({ pace: gate.pass }));
    const holding = await first.open(TEN_CENTS);
    await first.upstream.nextRequest();
    second.upstream.script(completion({ usage: usageOf(5, 0) }));
    const waiting = second.post({ ...TEN_CENTS });
    await second.get('/health');
    first.upstream.script(completion());
    // The provider breaks off, but may bill the ten cents, which leaves no room for the second.
    gate.open();
    expect((await waiting).status).toBe(402);
    holding.hangUp();
  });
});

test('a running daemon closes the holds of one that was killed', { timeout: 30_000 }, async () => {
  const database = join(tmpHome(), 'shared.db');
  const upstream = await startUpstream();
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    database,
    budget: { period: 'daily', capUsd: 1 },
  });
  const dying = await spawnDaemon(home.paths.home, { env: { GW_DATABASE: database } });
  const clock = createVirtualClock(Date.now());
  const living = await startGateway({ database, clock });
  upstream.queue(hang());
  const connection = await openConnection(dying.url);
  const headers = { authorization: `Bearer ${home.key}` };
  await connection.send(
    requestBytes(`${dying.url}/complete`, { body: { ...PLAIN, max_tokens: 50 }, headers }),
  );
  await upstream.nextRequest();
  await clock.advance(6_000);
  expect(home.holds()).toBe(1);
  dying.kill('SIGKILL');
  await dying.exited;
  await clock.advance(6_000);
  const [record] = await living.settled(1);
  expect(record).toMatchObject({ outcome: 'crashed', flags: ['estimated'] });
  expect(record?.costNanoUsd).toBe(record?.holdNanoUsd);
  expect(living.logged.map(({ msg }) => msg)).toContain('closed the holds of a daemon that died');
  home.db.close();
  await upstream.close();
});
