import { describe, expect, test } from 'vitest';
import { commandLineOf } from '../cli/cli-home.ts';
import { PLAIN, startAlone } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const HOUR_MS = 3_600_000;

async function served(how: 'locally' | 'remotely') {
  const clock = createVirtualClock();
  const gateway = await startAlone({ clock, budget: { period: 'daily', capUsd: 0 } });
  const cli = commandLineOf(gateway, how, clock);
  const status = async () => (await gateway.post({ ...PLAIN, max_tokens: 50 })).status;
  return { clock, cli, status };
}

describe.each(['locally', 'remotely'] as const)('gw budget, %s', (how) => {
  test('raise lets requests in for its time', async () => {
    const { clock, cli, status } = await served(how);
    expect(await status()).toBe(402);
    const raised = await cli.run(['budget', 'raise', '5', '--for', '2h']);
    expect([raised.code, raised.stderr]).toEqual([
      0,
      'Budget default/daily: $0.00 spent of $5.00 until 14:00 (UTC), then it falls back by $5.00. It applies from the next request.\n',
    ]);
    expect(await status()).toBe(200);
    expect(await cli.json(['budget', 'list'])).toMatchObject([
      { cap_usd: 5, raised_usd: 5, raised_until: '2026-01-01T14:00:00.000Z' },
    ]);
    clock.setWallTime(clock.now() + 2 * HOUR_MS);
    expect(await status()).toBe(402);
    expect(await cli.json(['budget', 'list'])).toMatchObject([
      { cap_usd: 0, raised_usd: 0, raised_until: null, exceeded: true },
    ]);
    expect((await cli.run(['budget', 'raise', '1', 'default/daily'])).code).toBe(0);
    expect(await status()).toBe(200);
  });

  test('set takes weeks, a lifetime and several alerts', async () => {
    const { cli } = await served(how);
    const set = (...args: string[]) => cli.json<object>(['budget', 'set', ...args]);
    expect(await set('20', '--period', 'weekly', '--alert', '95,50%,80')).toMatchObject({
      id: 'default/weekly',
      resets_at: '2026-01-05T00:00:00.000Z',
      alert_percent: 50,
      alert_percents: [50, 80, 95],
      alert_usd: 10,
    });
    expect(await set('25', '--period', 'weekly')).toMatchObject({ alert_percents: [50, 80, 95] });
    expect(await set('25', '--period', 'weekly', '--alert', '70')).toMatchObject({
      alert_percent: 70,
      alert_percents: [70],
    });
    expect(await set('100', '--period', 'lifetime')).toMatchObject({
      id: 'default/lifetime',
      resets_at: null,
      alert_percents: [80],
    });
    expect((await cli.run(['budget', 'remove', 'default/lifetime'])).code).toBe(0);
  });

  test.each([
    [['raise', '5'], 2, 'has 2 budgets. Choose one:\n  gw budget raise AMOUNT'],
    [['raise', '5', '-p', 'web'], 5, 'project web has no budget'],
    [['raise', '5', 'default/yearly'], 5, 'no budget "default/yearly"'],
    [['raise', '0', 'default/daily'], 2, 'a raise is an amount of more than $0'],
    [['raise', 'x'], 2, '"x" is not an amount'],
    [['raise', '5', 'default/daily', '--for', '1s'], 2, 'a raise lasts from a minute to 366 days'],
    [['raise', '5', '--for', 'ever'], 2, '--for ever is not a length of time'],
    [['set', '5', '--alert', '50,101'], 2, 'alert percentage 101 is not a whole number from 1 to 100'],
    [['set', '5', '--alert', '50,'], 2, '"" is not a percentage'],
    [['set', '5', '--period', 'yearly'], 2, 'Allowed choices are daily, weekly, monthly, lifetime'],
  ])('%j exits with %i', async (args, code, message) => {
    const { cli } = await served(how);
    await cli.run(['projects', 'add', 'web']);
    await cli.run(['budget', 'set', '5', '--period', 'weekly']);
    const result = await cli.run(['budget', ...args]);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
