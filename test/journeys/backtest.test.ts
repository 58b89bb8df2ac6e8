import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { backtest } from '../../src/store/backtest/backtest.ts';
import { pastRequests } from '../../src/store/backtest/past-requests.ts';
import { cliHome } from '../cli/cli-home.ts';
import { completion } from '../support/chat-scripts.ts';
import { usageOf } from '../support/chat-shapes.ts';
import { request } from '../support/client.ts';
import { PLAIN, startAlone } from '../support/gateway.ts';
import { seededRandom } from '../support/random.ts';
import { closeAll, setBudget, severalTargets } from '../support/several-targets.ts';

const CAP_USD = 5;
/** No more than a hundred are refused, whose records are apart. */
const REQUESTS = 140;
/** So many that holds, settlements and refusals share a millisecond. */
const AT_ONCE = 24;
const PLAYS = process.env.GW_LONG ? 150 : 3;

/** Numbers from 0 to 1. */
function dice(seed: string): () => number {
  const bytes = seededRandom(seed);
  return () => Buffer.from(bytes(4)).readUInt32LE() / 2 ** 32;
}

/** Requests of a cent to 60, which cost less than they need: many wait, and small ones fit where large ones do not. */
async function play(seed: string, period: 'daily' | 'weekly') {
  const random = dice(seed);
  const gateway = await startAlone({ price: { input: 0, output: 10_000 } });
  await gateway.setBudget({ period, capUsd: CAP_USD });
  await gateway.setBudget({ period: 'monthly', capUsd: 10 * CAP_USD });
  gateway.upstream.script(async (exchange) => {
    const { max_tokens } = JSON.parse((await exchange.body).toString());
    await delay(random() * 1.5);
    await completion({ usage: usageOf(5, Math.ceil(random() * max_tokens)) })(exchange);
  });
  let left = REQUESTS;
  const client = async () => {
    while (left-- > 0) await gateway.post({ ...PLAIN, max_tokens: 1 + Math.floor(random() * random() * 60) });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  await gateway.settled(REQUESTS);
  return gateway;
}

test.each(
  Array.from(
    { length: PLAYS },
    (_, i) => [i % 2 === 0 ? ('daily' as const) : ('weekly' as const), i] as const,
  ),
)(
  'a backtest of what a daemon admitted under a %s cap refuses what it refused, play %i',
  async (period, i) => {
    const gateway = await play(`${i}`, period);
    const blocked = gateway.db
      .prepare('SELECT id FROM request_log WHERE status = 402 ORDER BY id')
      .pluck()
      .all();
    expect(blocked.length).toBeGreaterThan(50);
    const calendar = createCalendar('UTC');
    const since = calendar[period === 'daily' ? 'day' : 'week'](Date.now()).start;
    const refused: number[] = [];
    const { exact } = await backtest(
      pastRequests(gateway.db, { projectIds: [1], since, until: Date.now() + 1 }),
      { projectId: 1, capNanoUsd: CAP_USD * 1_000_000_000, period, since },
      { calendar, onBlocked: ({ id }) => refused.push(id) },
    );
    expect(refused.sort((a, b) => a - b)).toEqual(blocked);
    expect(exact).toBe(true);
    const report = await gateway.get(`/v1/gw/budgets/backtest?cap_usd=${CAP_USD}&period=${period}`);
    expect(report.json()).toMatchObject({
      exact: true,
      total: { blocked_requests: blocked.length },
    });
    const [here, away] = [cliHome(), cliHome()];
    here.paths = gateway.paths;
    Object.assign(here.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
    Object.assign(away.env, { GW_URL: gateway.origin, GW_KEY: gateway.adminKey });
    for (const home of [here, away]) {
      home.clock.setWallTime(Date.now());
      expect(
        await home.json(['budget', 'backtest', `${CAP_USD}`, '--period', period, '--json']),
      ).toMatchObject({
        exact: true,
        total: { requests: REQUESTS, blocked_requests: blocked.length },
      });
    }
  },
);

test('a backtest of a cap for a label, a provider or a key counts what they did, and a label refuses what it refused', async () => {
  const gateway = await startAlone({ price: { input: 0, output: 100_000 } });
  const headers = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const body = { cap_usd: 0.3, scope: { kind: 'label:customer', value: 'acme' } };
  await request(`${gateway.url}/budgets`, { method: 'PUT', headers, body: JSON.stringify(body) });
  gateway.upstream.script(completion({ usage: usageOf(5, 1) }));
  const customers = ['acme', 'mega', 'acme', 'acme', 'acme', 'mega', 'acme'];
  for (const customer of customers)
    await gateway.post({ ...PLAIN, max_tokens: 1, service: { labels: { customer } } });
  await gateway.settled(customers.length);
  const totalOf = async (query: string) => {
    const report = await gateway.get(`/v1/gw/budgets/backtest?${query}`);
    const { total, scope } = report.json() as { total: Record<string, number>; scope: unknown };
    return { scope, counted: [total.requests, total.blocked_requests, total.spent_usd] };
  };
  expect(await totalOf('cap_usd=0.3&label=customer%3Dacme')).toEqual({
    scope: { kind: 'label:customer', value: 'acme' },
    counted: [5, 2, 0.3],
  });
  expect(await totalOf('cap_usd=0.1&label=customer%3Dmega')).toMatchObject({ counted: [2, 1, 0.1] });
  expect(await totalOf('cap_usd=0.4&model=*')).toMatchObject({ counted: [7, 3, 0.4] });
  expect(await totalOf('cap_usd=0.4&provider=nobody')).toMatchObject({ counted: [0, 0, 0] });
  expect((await gateway.get('/v1/gw/budgets/backtest?cap_usd=1&model=*&agent=codex')).status).toBe(400);
});

/** Forty requests of $0.10, or $0.01 at a cheaper model, one after the other, each of a conversation of its own. */
async function playCheaper(budget?: object) {
  const several = await severalTargets();
  onTestFinished(() => closeAll(several));
  const { gateway, hits } = several;
  for (const [name, outputPicoUsd] of Object.entries({ a: 1e11, b: 1e10 }))
    await gateway.setPrice({ provider: name, model: `m-${name}`, inputPicoUsd: 0, outputPicoUsd });
  for (const upstream of several.upstreams) upstream.script(completion({ usage: usageOf(5, 1) }));
  if (budget) await setBudget(gateway, budget);
  for (let i = 0; i < 40; i++) {
    const messages = [{ role: 'user', content: `Question ${i}` }];
    const labels = { customer: i % 4 === 0 ? 'acme' : 'mega' };
    await gateway.post({ model: 'a/m-a', messages, max_tokens: 1, service: { labels } });
  }
  await gateway.settled(40);
  const report = async (query: string) => (await gateway.get(`/v1/gw/budgets/backtest?${query}`)).json();
  return { gateway, hits, report };
}

test('a backtest of a cheaper model sends there and refuses what a daemon with that budget does', async () => {
  const terms = { on_limit: 'fallback', fallback: ['b/m-b'], fallback_percent: 80 };
  const free = await playCheaper();
  const capped = await playCheaper({ cap_usd: 1, ...terms });
  expect(capped.hits().slice(0, 2)).toEqual([8, 20]);
  for (const { report } of [free, capped]) {
    expect(await report('cap_usd=1&fallback=b/m-b&fallback_percent=80')).toMatchObject({
      exact: false,
      total: { requests: 40, blocked_requests: 12, fallback_requests: 20, spent_usd: 1 },
      fallback: {
        from_percent: 80,
        models: [
          { model: 'b/m-b', output_usd_per_million: 10_000, requests: 20, cost_usd: 0.2, own_cost_usd: 2 },
        ],
      },
    });
  }
  expect(await free.report('cap_usd=0.5&per=label:customer')).toMatchObject({
    scope: { kind: 'label:customer', value: null },
    exact: true,
    total: { requests: 40, blocked_requests: 30, spent_usd: 1 },
    members: {
      total: 2,
      hit: 2,
      most_hit: [
        { name: 'mega', requests: 30, blocked_requests: 25, spent_usd: 0.5, saved_usd: 2.5 },
        { name: 'acme', requests: 10, blocked_requests: 5, spent_usd: 0.5, saved_usd: 0.5 },
      ],
    },
  });
  expect(await free.report('cap_usd=0.5&model=a/*&fallback=b/m-b')).toMatchObject({
    total: { fallback_requests: 35, blocked_requests: 0, spent_usd: 0.5, saved_usd: 3.15 },
  });
  for (const [query, message] of [
    ['fallback=nobody/x', 'gw has no price of "nobody/x"'],
    ['fallback=,', 'names no model'],
    ['fallback_percent=80', 'belongs to "fallback"'],
    ['fallback=b/m-b&fallback_percent=101', 'fallback_percent'],
    ['per=moon', 'use session, agent, key'],
  ])
    expect(await free.report(`cap_usd=1&${query}`)).toMatchObject({
      error: { message: expect.stringContaining(message as string) },
    });
});

test('gw budget backtest shows members, cheaper models and what is not exact', async () => {
  const { gateway } = await playCheaper();
  const home = cliHome();
  home.paths = gateway.paths;
  home.clock.setWallTime(Date.now());
  Object.assign(home.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
  const { stdout } = await home.run([
    ...['budget', 'backtest', '0.5', '--per', 'label:customer', '--from', '7d', '--from', '80%'],
    ...['--on-limit', 'fallback:b/m-b'],
  ]);
  expect(stdout).toContain('for each label customer, then b/m-b from 80% on');
  expect(stdout).toContain('2 of 2 values of label customer would have been hit:');
  expect(stdout).toMatch(/mega +30 +\$0\.50 +\d+ +\d+ /);
  expect(stdout).toMatch(/b\/m-b +0 +10000 +\d+ +\$0\.\d+ +\$\d/);
  expect(stdout).toContain('its answers may be shorter or longer');
  const refused = await home.run(['budget', 'backtest', '1', '--on-limit', 'ask']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('nobody can be asked')]);
});
