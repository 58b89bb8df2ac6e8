import { describe, expect, onTestFinished, test } from 'vitest';
import { createUpstreamPools } from '../../src/gateway/state/upstream-pools.ts';
import { createNetwork } from '../../src/network/network.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { deferred } from '../support/deferred.ts';
import { startDroppingPath } from '../support/dropping-path.ts';
import { PLAIN, STREAM, startGateway } from '../support/gateway.ts';
import { sse } from '../support/sse-scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;

/** A daemon whose connections to its provider can die without a word. */
async function awake() {
  const clock = createVirtualClock();
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const path = await startDroppingPath(upstream.port);
  const gateway = await startGateway({
    clock,
    upstream: { ...upstream, url: path.url },
    settings: { 'upstream.first_byte_timeout_ms': 400 },
  });
  const post = async (key = gateway.key) =>
    (await gateway.post(PLAIN, { headers: { authorization: `Bearer ${key}` } })).status;
  /** Only the wall clock goes on, as in a sleep on Linux. */
  const sleep = (ms: number) => clock.setWallTime(clock.now() + ms);
  return { clock, upstream, path, gateway, post, sleep };
}

describe('connections that died without a word', () => {
  test('cost the first request after a sleep nothing', async () => {
    const { upstream, path, post, sleep } = await awake();
    expect([await post(), await post(), path.accepted]).toEqual([200, 200, 1]);
    path.drop();
    sleep(8 * HOUR);
    expect([await post(), path.accepted]).toEqual([200, 2]);
    expect(upstream.requests).toHaveLength(3);
  });

  test('are given up by the daemon itself, where its requests come later', async () => {
    const { clock, path, post, sleep } = await awake();
    await post();
    path.drop();
    sleep(60_000);
    await clock.advance(5_000);
    expect([await post(), path.accepted]).toEqual([200, 2]);
  });

  test('are not told from a slow provider while the machine is awake: the request waits, and is not sent twice', async () => {
    const { clock, upstream, path, gateway, post } = await awake();
    await post();
    path.drop();
    await clock.advance(20_000);
    expect(await post()).toBe(504);
    const records = await gateway.settled(2);
    expect(records.map(({ outcome }) => outcome)).toEqual(['ok', 'upstream_failed']);
    expect(upstream.requests).toHaveLength(1);
    // undici drops what timed out.
    expect([await post(), path.accepted]).toEqual([200, 2]);
  });
});

test('an address that this machine has lost takes the connections from there with it', async () => {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const limits = { connectTimeoutMs: 1_000, firstByteTimeoutMs: 1_000, idleTimeoutMs: 1_000 };
  const network = createNetwork({ caFile: '', proxyUrl: '', env: {} });
  const options = { ...limits, network };
  let addresses = ['192.168.1.7', '10.0.0.2'];
  const clock = createVirtualClock();
  const pools = createUpstreamPools({ options: () => options, clock, addresses: () => addresses });
  onTestFinished(() => pools.close());
  const origin = new URL(upstream.url).origin;
  const first = pools.of({ origin });
  pools.check();
  addresses = [...addresses, '172.20.0.1'];
  pools.check();
  expect(pools.of({ origin })).toBe(first);
  addresses = ['172.20.0.1', '10.0.0.2'];
  pools.check();
  expect(pools.of({ origin })).not.toBe(first);
});

test('a sleep of eight hours turns the day, ends keys, and leaves a request that ran to the day of its hold', async () => {
  const { clock, upstream, gateway, post, sleep } = await awake();
  const { db, project } = gateway;
  const now = clock.now();
  await gateway.setBudget({ period: 'daily', capUsd: 1 });
  const { key: shortLived } = await createKey(db, { projectId: project.id, now, expiresAt: now + HOUR });
  const answered = deferred<void>();
  upstream.queue(sse(['Good', ' night'], { pace: () => answered.promise }));
  const running = await gateway.open({ ...STREAM, max_tokens: 100 });
  await upstream.nextRequest();
  expect(await post(shortLived)).toBe(200);

  // From noon to the next day's first hour.
  sleep(13 * HOUR);
  await clock.advance(6_000);
  expect([await post(), await post(shortLived)]).toEqual([200, 401]);
  answered.resolve();
  await running.response();
  const records = await gateway.settled(3);
  const periods = db
    .prepare(`SELECT p.start, p.posted_nano_usd AS posted, p.pending_nano_usd AS pending FROM budget_periods p
      JOIN budgets b ON b.id = p.budget_id WHERE b.project_id = ? ORDER BY p.start`)
    .all(project.id);
  const spentFrom = (from: number) =>
    records.reduce((sum, { timeMs, costNanoUsd }) => sum + (timeMs >= from ? costNanoUsd : 0), 0);
  const midnight = Date.UTC(2026, 0, 2);
  expect(periods).toEqual([
    { start: Date.UTC(2026, 0, 1), posted: spentFrom(0) - spentFrom(midnight), pending: 0 },
    { start: midnight, posted: spentFrom(midnight), pending: 0 },
  ]);
  const resets = db.prepare("SELECT count(*) FROM events WHERE type = 'budget.reset' AND project_id = ?");
  expect(resets.pluck().get(project.id)).toBe(1);
});
