import { expect, test } from 'vitest';
import type { LimitUsageView } from '../../src/operations/schemas/limits.ts';
import { startWithPlans } from '../support/plan-gateway.ts';

/*
 * What users of other trackers and proxies of plans have reported.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1, 12);

const stated = (used: number, resetsAt: number, window = '5h') => ({
  [`anthropic-ratelimit-unified-${window}-utilization`]: String(used),
  [`anthropic-ratelimit-unified-${window}-reset`]: String(resetsAt / 1_000),
});

async function start(settings = {}) {
  const parts = await startWithPlans({ settings });
  const { clock, gateway, cli, asClaude } = parts;
  const alerts = () =>
    gateway.db
      .prepare<[], string>(
        "SELECT data FROM events WHERE type = 'budget.threshold_reached' ORDER BY sequence",
      )
      .pluck()
      .all()
      .map((data) => JSON.parse(data).alert_percent as number);
  return {
    ...parts,
    alerts,
    /** A request, and what its answer states a minute after the one before. */
    async ask(used: number, resetsAt: number, session = 'one', window?: string) {
      clock.advanceNow(MINUTE);
      return asClaude(stated(used, resetsAt, window), { headers: { 'x-claude-code-session-id': session } });
    },
    usage: () => cli.json<LimitUsageView>(['limits', '--group-by', 'session', '--since', '7d']),
  };
}

/** All shares and what is outside of gw. */
const sumOf = ({ data, outside }: LimitUsageView) =>
  data.reduce((sum, { share_5h }) => sum + (share_5h ?? 0), outside.share_5h);

test('a window that the vendor empties before its reset begins anew (anthropics/claude-code#52497)', async () => {
  const { cli, alerts, ask, usage } = await start();
  await cli.run(['limits', 'alert', '50']);
  const resetsAt = START + 5 * HOUR;
  for (const used of [0.1, 0.6, 0.02, 0.3, 0.55]) await ask(used, resetsAt);
  expect(alerts()).toEqual([50, 50]);
  // 60 % before, 55 % since.
  expect(sumOf(await usage())).toBeCloseTo(1.15, 6);
  const [window] = await cli.json<{ full_at: string }[]>(['limits']);
  // 53 % in two minutes: 45 % more take 102 seconds.
  expect(window?.full_at).toBe(new Date(START + 5 * MINUTE + 101_887).toISOString());
});

test("a run's share counts on after such a reset", async () => {
  const { gateway, asClaude, clock } = await start();
  const { openRun } = await import('../../src/store/budgets/runs.ts');
  const run = await openRun(gateway.db, {
    ...{ id: 'run_1', projectId: 1, caps: [], lockPath: gateway.paths.lock, now: 0 },
    windowSharePpm: 200_000,
  });
  const ask = (used: number) => {
    clock.advanceNow(MINUTE);
    return asClaude(stated(used, START + 5 * HOUR), { headers: { 'x-gw-key': run.key } });
  };
  for (const used of [0.6, 0.7, 0.01, 0.1, 0.25]) expect((await ask(used)).status).toBe(200);
  // It has used 24 % since, which is less than the 70 % before.
  expect((await ask(0.3)).status).toBe(429);
});

test('a reset that is put off while the window fills on is no new window (anthropics/claude-code#84744, #52469)', async () => {
  const { cli, alerts, ask, usage } = await start();
  await cli.run(['limits', 'alert', '50']);
  const resetsAt = START + 2 * HOUR;
  for (const used of [0.2, 0.52]) await ask(used, resetsAt);
  for (const used of [0.54, 0.6]) await ask(used, resetsAt + 2 * HOUR + 40 * MINUTE);
  expect(alerts()).toEqual([50]);
  expect(sumOf(await usage())).toBeCloseTo(0.6, 6);
});

test('a guard names the reset of the window that lasts longest (lidge-jun/opencodex#3809)', async () => {
  const { cli, clock, asClaude } = await start();
  await cli.run(['limits', 'guard', '--keep', '20%', '--for', 'session:mine']);
  const week = START + 72 * HOUR;
  await asClaude({ ...stated(1, START + 3 * MINUTE), ...stated(0.9, week, '7d') });
  const refused = await asClaude();
  expect([refused.status, refused.json()]).toMatchObject([
    429,
    { error: { resets_at: week / 1_000, message: expect.stringContaining('90% of the 7d window') } },
  ]);
  clock.advanceNow(4 * MINUTE);
  expect((await asClaude()).status).toBe(429);
});

test('a guard ends with the first answer that says so (router-for-me/CLIProxyAPI#5277, #5770)', async () => {
  const { cli, ask } = await start();
  await cli.run(['limits', 'guard', '--keep', '20%', '--for', 'session:mine']);
  const resetsAt = START + 72 * HOUR;
  await ask(0.9, resetsAt, 'other', '7d');
  expect((await ask(0.9, resetsAt, 'other', '7d')).status).toBe(429);
  // The vendor has emptied the window; nobody but the one that the guard is for can learn it.
  await ask(0.01, resetsAt + 96 * HOUR, 'mine', '7d');
  expect((await ask(0.02, resetsAt + 96 * HOUR, 'other', '7d')).status).toBe(200);
});
