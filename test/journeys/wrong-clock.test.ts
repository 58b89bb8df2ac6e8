import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NANO_PER_USD } from '../../src/money.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { makeOldDatabase } from '../support/database-0-1-0.mjs';
import { PLAIN, startAlone, until } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createReceiver } from '../webhooks/support/receiver.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
/** Of tomorrow: doctor compares the clock with the times of files. */
const NOON = Date.now() - (Date.now() % DAY) + 36 * HOUR;
const TODAY = new Date(NOON).toISOString().slice(0, 10);

interface Budget {
  id: string;
  spent_usd: number;
  cap_usd: number;
  raised_usd: number;
  resets_at: string;
}

/** A daemon whose clock a test sets ahead by a year and back, and the command line beside it. */
async function served(options: Parameters<typeof startAlone>[0] = {}) {
  const clock = createVirtualClock(NOON);
  const gateway = await startAlone({ clock, ...options });
  const cli = commandLineOf(gateway, 'locally', clock);
  const setBy = async (ms: number) => {
    clock.setWallTime(clock.now() + ms);
    // Longer than the daemon takes to look at the clock.
    await clock.advance(6_000);
  };
  return { clock, gateway, cli, setBy };
}

describe('a clock that was a year ahead', () => {
  test('leaves budgets, records, ids and reports as if it had never been', async () => {
    const { clock, gateway, cli, setBy } = await served();
    const today = clock.now() - (clock.now() % DAY);
    const status = async () => (await gateway.post({ ...PLAIN, max_tokens: 50 })).status;
    for (const args of [['daily'], ['monthly']]) await cli.run(['budget', 'set', '1', '--period', ...args]);
    await cli.run(['budget', 'set', '--max-rate', '1/hour']);
    expect(await status()).toBe(200);
    await setBy(YEAR);
    expect([await status(), await status()]).toEqual([200, 200]);
    await setBy(-YEAR);
    expect(await status()).toBe(200);

    const records = await gateway.records();
    const cost = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0) / NANO_PER_USD;
    const budgets = await cli.json<Budget[]>(['budget', 'list']);
    expect(budgets.map(({ spent_usd }) => spent_usd)).toEqual([cost, cost, cost]);
    expect(budgets[0]?.resets_at).toBe(new Date(today + DAY).toISOString());
    const ids = records.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    const times = records.map(({ timeMs }) => timeMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(clock.now());
    const shown = await cli.json<{ id: string }[]>(['requests']);
    expect(shown.map(({ id }) => id)).toEqual(
      (await cli.json<{ id: string }[]>(['requests', '--since', '1h'])).map(({ id }) => id),
    );
    expect(shown).toHaveLength(4);
    expect(await cli.json(['usage', '--from', TODAY, '--to', TODAY])).toMatchObject({
      total: { requests: 4, cost_usd: cost },
    });

    // Not a second cap today, nor tomorrow for what was spent today.
    await cli.run(['budget', 'set', String(cost), '--period', 'daily']);
    expect(await status()).toBe(402);
    await setBy(DAY);
    expect(await cli.json<Budget[]>(['budget', 'list'])).toMatchObject([{ spent_usd: 0 }, {}, {}]);
    await cli.run(['budget', 'set', '1', '--period', 'daily']);
    expect(await status()).toBe(200);
  });

  test('is named by the log and by doctor', async () => {
    const { gateway, cli, setBy } = await served();
    await gateway.post(PLAIN);
    await setBy(YEAR);
    await gateway.post(PLAIN);
    await setBy(-YEAR);
    expect(gateway.logged.map(({ msg }) => msg).filter((msg) => /clock/.test(String(msg)))).toEqual([
      'the clock jumped forward',
      'the clock jumped back',
    ]);
    const { stdout } = await cli.run(['doctor']);
    expect(stdout).toContain('it jumped back by 365d');
  });

  test('is noticed at the next start, too', async () => {
    const { clock, gateway, cli, setBy } = await served();
    await setBy(YEAR);
    await gateway.post(PLAIN);
    await gateway.stop();
    clock.setWallTime(clock.now() - YEAR);
    const again = await startAlone({ clock, home: gateway.paths.home, upstream: gateway.upstream });
    await clock.advance(6_000);
    expect(again.logged.map(({ msg }) => msg)).toContain('the clock jumped back');
    await again.post(PLAIN);
    const ids = (await again.records()).map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
    expect((await again.records()).every(({ timeMs }) => timeMs <= clock.now())).toBe(true);
    expect((await cli.run(['doctor'])).stdout).toContain('it jumped back by 365d');
  });

  test('leaves no raise, key or former key for a year', async () => {
    const { clock, gateway, cli, setBy } = await served({ budget: { period: 'daily', capUsd: 0 } });
    const withKey = async (key: string) =>
      (await gateway.post(PLAIN, { headers: { authorization: `Bearer ${key}` } })).status;
    const old = await cli.json<{ id: number; key: string }>(['keys', 'create', '--expires', '30d']);
    await setBy(YEAR);
    expect(await withKey(old.key)).toBe(401);
    await cli.run(['budget', 'raise', '5', '--for', '2h']);
    const early = await cli.json<{ id: number; key: string }>(['keys', 'create', '--expires', '2h']);
    const rotated = await cli.json<{ key: string }>(['keys', 'rotate', String(early.id), '--overlap', '1h']);
    await setBy(-YEAR);
    const keys = [old.key, early.key, rotated.key];
    expect(await Promise.all(keys.map(withKey))).toEqual([200, 200, 200]);
    clock.setWallTime(clock.now() + 61 * MINUTE);
    expect(await Promise.all(keys.map(withKey))).toEqual([200, 401, 200]);
    clock.setWallTime(clock.now() + HOUR);
    expect(await Promise.all(keys.map(withKey))).toEqual([402, 401, 401]);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 0, raised_usd: 0 }]);
  });

  test('deletes no record, unless it stays ahead for a day', async () => {
    const { clock, gateway, setBy } = await served({ settings: { 'retention.requests': '30d' } });
    for (let i = 0; i < 3; i++) await gateway.post(PLAIN);
    await clock.advance(2 * MINUTE);
    await setBy(YEAR);
    await gateway.post(PLAIN);
    await clock.advance(3 * MINUTE);
    expect(await gateway.records()).toHaveLength(4);
    await setBy(-YEAR);
    await clock.advance(2 * MINUTE);
    expect(await gateway.records()).toHaveLength(4);
    // Two months pass.
    await setBy(61 * DAY);
    await clock.advance(2 * MINUTE);
    await setBy(DAY);
    await gateway.post(PLAIN);
    await clock.advance(2 * MINUTE);
    await until(async () => {
      await clock.advance(10_000);
      return (await gateway.records()).length === 1;
    });
  });

  test('delays no webhook', async () => {
    const { clock, gateway, cli, setBy } = await served({ budget: { period: 'daily', capUsd: 0 } });
    let isDown = true;
    // In larger steps, a delivery would time out before a busy machine has answered it.
    const pass = () => clock.advance(100);
    const receiver = await createReceiver(clock, (response) => {
      response.statusCode = isDown ? 500 : 200;
      response.end();
    });
    await cli.run(['webhooks', 'add', `${receiver.url}/hook`]);
    await setBy(YEAR);
    expect((await gateway.post(PLAIN)).status).toBe(402);
    await until(async () => {
      await pass();
      return receiver.received.length > 0;
    });
    isDown = false;
    const failed = receiver.received.length;
    await setBy(-YEAR);
    await until(async () => {
      await pass();
      return receiver.received.length > failed;
    });
    // The receiver has it before the daemon has written that, and a late write is brought back by one after it.
    await until(async () => {
      await clock.advance(6_000);
      const deliveries = await cli.json<{ created_at: string }[]>(['webhooks', 'deliveries']);
      return deliveries.every(({ created_at }) => Date.parse(created_at) <= clock.now());
    });
    await receiver.close();
  });
});

test('a database of 0.1.0 whose clock was a year ahead heals as it is opened', async () => {
  const clock = createVirtualClock(NOON);
  const home = tmpHome();
  const file = join(tmpHome(), 'old.db');
  const start = NOON - 12 * HOUR + YEAR;
  const old = makeOldDatabase(file, { requests: 400, days: 1, start });
  const spent = old.prepare('SELECT sum(cost_nano_usd) FROM requests').pluck().get();
  old.pragma('wal_checkpoint(TRUNCATE)');
  old.close();
  const database = join(home, 'gw.db');
  copyFileSync(file, database);
  const gateway = await startAlone({ clock, home });
  const cli = commandLineOf(gateway, 'locally', clock);
  await gateway.post(PLAIN);
  const records = await gateway.records();
  expect(records.every(({ timeMs }) => timeMs <= clock.now())).toBe(true);
  expect(records.at(-1)?.model).toBe('test-model');
  expect(await cli.json(['usage', '--from', TODAY, '--to', TODAY])).toMatchObject({
    total: { requests: records.length },
  });
  const total = records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
  expect(total).toBeGreaterThan(Number(spent));
  const [budget] = await cli.json<Budget[]>(['budget', 'list']);
  expect(budget?.resets_at).toBe(new Date(NOON + 12 * HOUR).toISOString());
  expect((await cli.run(['doctor'])).stdout).toMatch(/it jumped back by 36[56]d/);
});
