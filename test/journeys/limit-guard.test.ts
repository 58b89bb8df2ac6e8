import { describe, expect, test } from 'vitest';
import { type RawResponse, request } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { until } from '../support/gateway.ts';
import { startWithPlans, TOKEN } from '../support/plan-gateway.ts';
import { CLAUDE } from '../wire/support/anthropic-gateway.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface Event {
  type: string;
  data: Record<string, unknown>;
}

const codeOf = (answer: RawResponse) => (answer.json() as { error?: { code?: string } }).error?.code;

describe('alerts of windows', () => {
  async function startWithEvents(settings = {}) {
    const parts = await startWithPlans({ settings });
    const { gateway } = parts;
    const read = (): Event[] =>
      gateway.db
        .prepare<[], { type: string; data: string }>('SELECT type, data FROM events ORDER BY sequence')
        .all()
        .map(({ type, data }) => ({ type, data: JSON.parse(data) as Event['data'] }));
    return { ...parts, read };
  }

  test('are sent once a share and window, and again after its reset', async () => {
    const { claude, clock, cli, asClaude, read } = await startWithEvents();
    expect((await cli.run(['limits', 'alert', '75,90'])).stderr).toContain('75,90%');
    claude.spendElsewhere(0.5);
    await asClaude();
    claude.spendElsewhere(0.3);
    await asClaude();
    await asClaude();
    claude.spendElsewhere(0.15);
    await asClaude();
    const shares = () => read().map(({ type, data }) => [type, data.window, data.alert_percent, data.used]);
    expect(shares()).toEqual([
      ['budget.threshold_reached', '5h', 75, 0.8],
      ['budget.threshold_reached', '5h', 90, 0.95],
    ]);
    expect(read()[0]?.data).toMatchObject({
      kind: 'limit_window',
      service: 'anthropic',
      login: expect.stringMatching(/^claude-/),
      model: null,
      resets_at: '2026-01-01T17:00:00.000Z',
    });
    clock.advanceNow(5 * HOUR + MINUTE);
    claude.spendElsewhere(0.76);
    await asClaude();
    expect(shares().slice(2)).toEqual([['budget.threshold_reached', '5h', 75, 0.76]]);
  });

  test('reach the webhooks of all projects, and chats in words of their own', async () => {
    const { gateway, claude, asClaude, read, cli } = await startWithEvents();
    await cli.run(['projects', 'add', 'web']);
    await cli.run(['webhooks', 'add', 'https://chat.example/hook', '-p', 'web', '--format', 'slack']);
    claude.spendElsewhere(0.81);
    await asClaude();
    const projects = gateway.db.prepare('SELECT project_id FROM events ORDER BY 1').pluck().all();
    expect(new Set(projects).size).toBe(2);
    expect(read()).toHaveLength(2);
    expect(gateway.db.prepare('SELECT count(*) FROM deliveries').pluck().get()).toBe(1);
  });

  test('tell of a window that fills before its reset, if they are wanted', async () => {
    const off = await startWithEvents();
    const on = await startWithEvents({ 'limits.forecast_alerts': 'on', 'limits.alerts': '' });
    for (const { claude, clock, asClaude } of [off, on]) {
      await asClaude();
      for (let i = 0; i < 4; i++) {
        clock.advanceNow(10 * MINUTE);
        claude.spendElsewhere(0.1);
        await asClaude();
      }
    }
    expect(off.read()).toEqual([]);
    expect(on.read().filter(({ data }) => data.window === '5h')).toMatchObject([
      { data: { forecast: true, full_at: '2026-01-01T13:40:00.000Z', used: 0.2 } },
    ]);
  });
});

describe('a guard', () => {
  test('keeps the rest for what it names, and says in the words of each client when it ends', async () => {
    const { gateway, claude, chatgpt, cli, asClaude, asCodex } = await startWithPlans();
    await cli.run(['limits', 'guard', '--keep', '20%', '--for', 'session:mine', '--for', 'agent:pi']);
    claude.spendElsewhere(0.79);
    await asClaude();
    expect((await asClaude()).status).toBe(200);
    claude.spendElsewhere(0.01);
    await asClaude();
    const sent = gateway.upstream.requests.length;
    const refused = await asClaude();
    expect([refused.status, codeOf(refused), refused.header('x-should-retry')]).toEqual([
      429,
      'limit_guarded',
      'false',
    ]);
    expect(refused.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message:
          '80% of the 5h window is used, and its last 20% is kept for others. It resets at 2026-01-01 17:00 (UTC). To lift the guard: gw limits guard --remove',
        resets_at: Date.UTC(2026, 0, 1, 17) / 1_000,
      },
    });
    chatgpt.spendElsewhere(0.9);
    await asCodex();
    const ofCodex = await asCodex(undefined, { headers: { originator: 'codex_exec' } });
    expect(ofCodex.json()).toMatchObject({ error: { type: 'usage_limit_reached', code: 'limit_guarded' } });
    expect(ofCodex.header('x-codex-promo-message')).toContain('90% of the 5h window');
    expect(gateway.upstream.requests.length).toBe(sent + 1);
    const mine = await asClaude(undefined, { headers: { 'x-claude-code-session-id': 'mine' } });
    expect(mine.status).toBe(200);
    expect((await gateway.records()).filter(({ outcome }) => outcome === 'refused')).toMatchObject([
      { status: 429, detail: { error: 'limit_guarded' } },
      { status: 429 },
    ]);
    await cli.run(['limits', 'guard', '--remove']);
    expect((await asClaude()).status).toBe(200);
  });

  test('for a key or an agent lets these through, and ends at the reset', async () => {
    const { gateway, claude, clock, cli, asClaude } = await startWithPlans();
    claude.spendElsewhere(0.95);
    await asClaude();
    await cli.run(['limits', 'guard', '--keep', '10', '--for', 'agent:claude']);
    expect((await asClaude()).status).toBe(200);
    expect((await asClaude(undefined, { headers: { 'user-agent': 'curl/8' } })).status).toBe(429);
    const [key] = await cli.json<{ id: number }[]>(['keys', 'list']);
    await cli.run(['limits', 'guard', '--keep', '10', '--for', String(key?.id)]);
    expect(await cli.json(['limits', 'guard'])).toMatchObject([
      { object: 'limit_guard', kind: 'key', keep: 0.1 },
    ]);
    expect((await asClaude(undefined, { headers: { 'user-agent': 'curl/8' } })).status).toBe(
      gateway.db
        .prepare('SELECT count(*) FROM keys WHERE id = ? AND hint = ?')
        .pluck()
        .get(key?.id, gateway.key.slice(-4))
        ? 200
        : 429,
    );
    await cli.run(['limits', 'guard', '--keep', '10', '--for', 'session:other']);
    expect((await asClaude()).status).toBe(429);
    clock.advanceNow(5 * HOUR + MINUTE);
    expect((await asClaude()).status).toBe(200);
  });

  test('that is slow lets others wait for the reset, if they have the patience', async () => {
    const { claude, clock, cli, asClaude } = await startWithPlans();
    await cli.run(['limits', 'guard', '--keep', '20', '--for', 'session:other', '--slow']);
    claude.spendElsewhere(0.9);
    await asClaude();
    const patient = { headers: { 'x-stainless-timeout': '600' } };
    expect((await asClaude(undefined, patient)).status).toBe(429);
    clock.advanceNow(4 * HOUR + 56 * MINUTE);
    const before = clock.timers;
    const waiting = asClaude({}, patient);
    while (clock.timers === before) await clock.timerSet();
    expect((await asClaude()).status).toBe(429);
    await clock.advance(4 * MINUTE);
    expect((await waiting).status).toBe(200);
  });

  test('is passed by one request of each that runs, and no more', async () => {
    const { gateway, claude, cli, asClaude } = await startWithPlans();
    await cli.run(['limits', 'guard', '--keep', '20', '--for', 'session:mine']);
    claude.spendElsewhere(0.79);
    await asClaude();
    const begun = deferred<void>();
    const RUNNING = 5;
    const ask = () =>
      request(gateway.origin, {
        path: '/v1/messages',
        headers: { authorization: TOKEN, 'x-gw-key': gateway.key },
        body: { model: CLAUDE, max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
      });
    const running = Array.from({ length: RUNNING }, () => {
      gateway.upstream.queue(async (exchange) => {
        await exchange.body;
        await begun.promise;
        const headers = claude.headers();
        claude.spendElsewhere(0.01);
        await exchange.send(
          200,
          { 'content-type': 'application/json', ...headers },
          JSON.stringify(messageBody([text('Hi')])),
        );
      });
      return ask();
    });
    await until(() => gateway.upstream.requests.length === RUNNING + 1);
    begun.resolve();
    await Promise.all(running);
    expect(claude.used('5h')).toBeCloseTo(0.79 + RUNNING * 0.01);
    expect((await asClaude()).status).toBe(429);
    expect((await asClaude(undefined, { headers: { 'x-claude-code-session-id': 'mine' } })).status).toBe(200);
  });

  test('says what is wrong with its options', async () => {
    const { cli } = await startWithPlans();
    const codes = async (...args: string[]) => {
      const { code, stderr } = await cli.run(['limits', 'guard', ...args]);
      return [code, stderr.trim()];
    };
    expect(await codes('--keep', '20')).toEqual([2, expect.stringContaining('--keep and --for go together')]);
    expect(await codes('--keep', '100', '--for', 'agent:pi')).toEqual([
      2,
      expect.stringContaining('1% to 99%'),
    ]);
    expect(await codes('--keep', '20', '--for', 'agent:')).toEqual([
      2,
      expect.stringContaining('names nothing'),
    ]);
    expect(await codes('--keep', '20', '--for', 'none')).toEqual([
      5,
      expect.stringContaining('gw keys list'),
    ]);
    expect((await cli.run(['limits', 'alert', '0'])).code).toBe(2);
  });
});

test("a run's share of the windows is what its requests have used by list price", async () => {
  const { gateway, claude, cli, asClaude } = await startWithPlans();
  const { openRun, endRun } = await import('../../src/store/budgets/runs.ts');
  const run = await openRun(gateway.db, {
    ...{ id: 'run_1', projectId: 1, caps: [], lockPath: gateway.paths.lock, now: 0 },
    windowSharePpm: 100_000,
  });
  const asRun = () => asClaude(undefined, { headers: { 'x-gw-key': run.key } });
  await asClaude();
  for (let i = 0; i < 5; i++) {
    expect((await asRun()).status).toBe(200);
    await asClaude();
    claude.spendElsewhere(0.05);
  }
  // A third of the first rise of 5 % is the run's, and half of the others: more than 10 % after five.
  await asClaude();
  const refused = await asRun();
  expect([refused.status, codeOf(refused)]).toEqual([429, 'limit_guarded']);
  expect(refused.text()).toContain('this run has used its share of 10% of the 5h window');
  expect((await asClaude()).status).toBe(200);
  endRun(gateway.db, 'run_1', 0);
  expect(gateway.db.prepare('SELECT count(*) FROM limit_shares').pluck().get()).toBe(0);
  const { code, stderr } = await cli.run(['run', '--window-share', '10%', '--', 'true']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('gw run --subscription --window-share 10%')]);
});

describe('a login whose plan is used up', () => {
  const OVERAGE = {
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-overage-status': 'allowed',
  };
  /** A message of 20 tokens in and 5 out: $3 and $15 for a million. */
  const LIST_USD = (20 * 3 + 5 * 15) / 1e6;

  async function startSpent(settings = {}) {
    const parts = await startWithPlans({ settings, budget: { capUsd: 0.01, period: 'daily' } });
    parts.claude.spendElsewhere(1);
    return {
      ...parts,
      beyond: () => parts.asClaude({ ...parts.claude.headers(), ...OVERAGE }),
      async spent() {
        const { data } = (await parts.gateway.get('/v1/budgets')).json() as { data: { spent_usd: number }[] };
        return data[0]?.spent_usd;
      },
    };
  }

  test('counts in budgets from the answer on that says so, until its window resets', async () => {
    const { gateway, claude, clock, asClaude, beyond, spent } = await startSpent();
    expect((await beyond()).header('x-service-route')).toBe('subscription');
    expect(await spent()).toBe(0);
    expect((await beyond()).header('x-service-route')).toBe('overage');
    expect(await spent()).toBeCloseTo(LIST_USD, 9);
    clock.advanceNow(5 * HOUR + MINUTE);
    await asClaude();
    expect(await spent()).toBeCloseTo(LIST_USD, 9);
    expect((await gateway.records()).map(({ flags }) => flags.includes('not_billed'))).toEqual([
      true,
      false,
      true,
    ]);
    claude.spendElsewhere(1);
    await beyond();
    // The plan is extended: the hold for this one is released.
    await asClaude({ ...claude.headers(), 'anthropic-ratelimit-unified-5h-utilization': '0.10' });
    expect(await spent()).toBeCloseTo(LIST_USD, 9);
  });

  test('is stopped by a cap', async () => {
    const { gateway, beyond, spent } = await startSpent();
    await gateway.setBudget({ capUsd: LIST_USD * 1.5, period: 'daily' });
    await beyond();
    const sent = gateway.upstream.requests.length;
    const refused = await beyond();
    expect([refused.status, codeOf(refused)]).toEqual([402, 'budget_exceeded']);
    expect([gateway.upstream.requests.length, await spent()]).toEqual([sent, 0]);
  });

  test('is refused if the owner wants so', async () => {
    const { gateway, cli, clock, asClaude, beyond } = await startSpent();
    await cli.run(['config', 'set', 'passthrough.subscriptions.overage', 'refuse']);
    expect((await cli.run(['config', 'get', 'passthrough.subscriptions.overage'])).stdout).toBe('refuse\n');
    expect((await cli.run(['config', 'get', 'passthrough.subscriptions'])).stdout).toBe('allow\n');
    await beyond();
    const refused = await beyond();
    expect([refused.status, codeOf(refused)]).toEqual([402, 'overage_refused']);
    expect(refused.text()).toContain('until 2026-01-01 17:00 (UTC)');
    expect(gateway.upstream.requests).toHaveLength(1);
    clock.advanceNow(5 * HOUR + MINUTE);
    expect((await asClaude()).status).toBe(200);
    await cli.run(['config', 'unset', 'passthrough.subscriptions.overage']);
    expect((await cli.run(['config', 'get', 'passthrough.subscriptions.overage'])).stdout).toBe('count\n');
  });
});
