import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LimitUsageView, LimitWindowView } from '../../src/operations/schemas/limits.ts';
import { pruneLimits } from '../../src/store/limits/limit-rows.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { CANARY, startWithPlans } from '../support/plan-gateway.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('the windows of subscriptions', () => {
  test('are listed as the last answer stated them, with their pace, by login', async () => {
    const { claude, chatgpt, clock, cli, asClaude, asCodex } = await startWithPlans();
    await asClaude();
    claude.spendElsewhere(0.4);
    chatgpt.spendElsewhere(0.25);
    clock.advanceNow(30 * MINUTE);
    await asClaude();
    await asCodex();
    const windows = await cli.json<LimitWindowView[]>(['limits']);
    expect(
      windows.map(({ login, ...rest }) => ({ ...rest, login: login.replace(/[0-9a-f]{10}$/, 'HASH') })),
    ).toMatchObject([
      {
        object: 'limit_window',
        login: 'claude-HASH',
        service: 'anthropic',
        window: '5h',
        model: null,
        used: 0.4,
        resets_at: '2026-01-01T17:00:00.000Z',
        status: 'allowed',
        // 40 % in half an hour: 60 % more take 45 minutes.
        full_at: '2026-01-01T13:15:00.000Z',
        updated_at: '2026-01-01T12:30:00.000Z',
      },
      {
        window: '7d',
        used: 0.04,
        full_at: '2026-01-02T00:30:00.000Z',
        resets_at: '2026-01-08T12:00:00.000Z',
      },
      { login: 'chatgpt-HASH', service: 'chatgpt', window: '5h', used: 0.25, full_at: null },
      { window: '7d', used: 0.03 },
    ]);
    const { stdout } = await cli.run(['limits']);
    expect(stdout).toMatch(/^anthropic +5h +40% +▁+█ +full at 13:15 +4h30m \(17:00\)$/m);
  });

  test('are in the status, the status line, the metrics and remote commands', async () => {
    const { gateway, claude, clock, cli, asClaude } = await startWithPlans();
    claude.spendElsewhere(0.62);
    await asClaude();
    const windows = await cli.json<LimitWindowView[]>(['limits']);
    const remote = commandLineOf(gateway, 'remotely', clock);
    expect(await remote.json(['limits'])).toEqual(windows);
    expect(await cli.json(['status'])).toMatchObject({ limits: windows });
    expect((await cli.run(['status'])).stdout).toContain(
      'limits     anthropic 5h 62% (resets 17:00), 7d 6% (resets Jan 8)',
    );
    for (const each of [cli, remote])
      expect((await each.run(['statusline'])).stdout).toContain(' · 5h 62% · 7d 6%');
    const login = windows[0]?.login;
    const metrics = (await gateway.get('/metrics', { authorization: `Bearer ${gateway.adminKey}` })).text();
    expect(metrics).toContain(`gw_limit_used_ratio{login="${login}",window="5h",model=""} 0.62`);
    expect(metrics).toContain(`gw_limit_resets_timestamp_seconds{login="${login}",window="5h",model=""} `);
    const refused = await gateway.get('/v1/gw/limits');
    expect([refused.status, refused.text()]).toEqual([403, expect.stringContaining('gw limits')]);
    const own = (await gateway.get('/v1/gw/status')).json();
    expect(own).not.toHaveProperty('limits');
    const dashboardOf = async (key: string) =>
      (await gateway.get('/v1/gw/dashboard', { authorization: `Bearer ${key}` })).json();
    expect(await dashboardOf(gateway.adminKey)).toMatchObject({ data: { limits: windows } });
    expect(await dashboardOf(gateway.key)).toMatchObject({ data: { limits: [] } });
    for (const each of [cli, remote])
      expect((await each.run(['top', '--once'])).stdout).toMatch(/anthropic 5h .* 62% /);
  });

  test('go on to the client as they came', async () => {
    const { claude, chatgpt, asClaude, asCodex } = await startWithPlans();
    for (const [plan, ask] of [
      [claude, asClaude],
      [chatgpt, asCodex],
    ] as const) {
      const { date: _, ...stated } = plan.headers();
      const odd = { ...stated, 'x-codex-new': '1e3' };
      const answer = await ask(odd);
      for (const [name, value] of Object.entries(stated)) expect(answer.header(name)).toBe(value);
      expect(answer.header('x-codex-new')).toBe('1e3');
    }
  });

  test('begin anew at their reset, and stay one login when its token is renewed', async () => {
    const { claude, clock, cli, asClaude } = await startWithPlans();
    claude.spendElsewhere(0.9);
    await asClaude();
    clock.advanceNow(5 * HOUR + MINUTE);
    expect(await cli.json(['limits'])).toMatchObject([
      { window: '5h', used: 0, resets_at: null, status: 'reset', full_at: null },
      { window: '7d', used: 0.09, resets_at: expect.any(String) },
    ]);
    await asClaude(claude.headers(), { token: `Bearer sk-ant-oat01-${CANARY}-renewed` });
    expect(await cli.json(['limits'])).toMatchObject([
      { window: '5h', used: 0, resets_at: '2026-01-01T22:01:00.000Z', status: 'allowed' },
      { window: '7d', used: 0.09 },
    ]);
  });

  test('are not listed any more once the vendor has dropped them', async () => {
    const { chatgpt, clock, cli, asCodex } = await startWithPlans();
    await asCodex();
    clock.advanceNow(6 * HOUR);
    // The week alone, in the first place: https://github.com/robinebers/openusage/pull/979
    const { 'x-codex-secondary-reset-at': reset = '' } = chatgpt.headers();
    const week = { 'used-percent': '7', 'window-minutes': '10080', 'reset-at': reset };
    await asCodex(
      Object.fromEntries(Object.entries(week).map(([name, value]) => [`x-codex-primary-${name}`, value])),
    );
    expect(await cli.json(['limits'])).toMatchObject([{ window: '7d', used: 0.07 }]);
  });

  test('are kept a row a minute, for 90 days', async () => {
    const { gateway, claude, clock, asClaude } = await startWithPlans();
    const rows = () => gateway.db.prepare('SELECT count(*) FROM limit_history').pluck().get();
    for (let i = 0; i < 5; i++) {
      claude.spendElsewhere(0.01);
      await asClaude();
    }
    expect(rows()).toBe(2);
    clock.advanceNow(MINUTE);
    await asClaude();
    expect(rows()).toBe(4);
    pruneLimits(gateway.db, clock.now() + 90 * 24 * HOUR);
    expect(rows()).toBe(2);
  });

  test('keep their figures when headers are odd, which doctor says', async () => {
    const { claude, cli, asClaude } = await startWithPlans();
    claude.spendElsewhere(0.5);
    await asClaude();
    const before = await cli.json<LimitWindowView[]>(['limits']);
    const header = 'anthropic-ratelimit-unified-5h-utilization';
    for (const odd of ['-0.2', '1.7', 'NaN']) {
      const answer = await asClaude({ ...claude.headers(), [header]: odd });
      expect([answer.status, answer.header(header)]).toEqual([200, odd]);
    }
    await asClaude({ ...claude.headers(), date: 'Thu, 01 Jan 2026 13:00:00 GMT' });
    await asClaude({});
    expect(await cli.json(['limits'])).toEqual(before);
    const { stdout } = await cli.run(['doctor', '--quick'], { columns: 400 });
    expect(stdout).toContain(
      `! limits       anthropic answered with ${header} that is below 0`.replace('! ', '!   '),
    );
  });
});

test('whose a window was is told by session, agent, repository and model, and sums to what was reported', async () => {
  const { claude, clock, cli, gateway, asClaude } = await startWithPlans();
  const ask = async (session: string, share: number) => {
    await asClaude(claude.headers(), { headers: { 'x-claude-code-session-id': session } });
    claude.spendElsewhere(share);
    clock.advanceNow(2 * MINUTE);
  };
  for (let i = 0; i < 12; i++) await ask(i % 3 === 0 ? 'one' : 'two', 0.02);
  claude.spendElsewhere(0.3);
  await ask('two', 0);
  const usage = await cli.json<LimitUsageView>(['limits', '--group-by', 'session', '--since', '7d']);
  const shares = Object.fromEntries(usage.data.map(({ key, share_5h }) => [key, share_5h]));
  // Eight of twelve requests of 2 % each; the 30 % at the end came from elsewhere.
  expect(Math.abs((shares.two ?? 0) - 0.16)).toBeLessThan(0.03);
  expect(Math.abs((shares.one ?? 0) - 0.08)).toBeLessThan(0.03);
  expect(Math.abs(usage.outside.share_5h - 0.3)).toBeLessThan(0.03);
  for (const [name, reported] of [
    ['share_5h', 0.54],
    ['share_7d', 0.05],
  ] as const)
    expect(usage.data.reduce((sum, row) => sum + row[name], usage.outside[name])).toBeCloseTo(reported, 9);
  expect(usage.data.map(({ key, requests, output_tokens }) => [key, requests, output_tokens])).toEqual([
    ['two', 9, 45],
    ['one', 4, 20],
  ]);
  for (const [group, key] of [
    ['agent', 'claude'],
    ['repo', null],
    ['model', 'claude-sonnet-4-5'],
  ])
    expect(await cli.json(['limits', '-g', String(group)])).toMatchObject({ data: [{ key, requests: 13 }] });
  const remote = commandLineOf(gateway, 'remotely', clock);
  expect(await remote.json(['limits', '-g', 'session'])).toEqual(usage);
  expect((await cli.run(['limits', '-g', 'session'])).stdout).toMatch(/^outside of gw +3\d\.\d% /m);
  expect((await cli.run(['limits', '--since', '7d'])).code).toBe(2);
  const none = await cli.json<LimitUsageView>(['limits', '-g', 'session', '--login', 'claude-none']);
  expect(none).toMatchObject({ data: [], outside: { share_5h: 0 } });
});

test('without a login nothing of windows is loaded or written', async () => {
  const { gateway, cli } = await startWithPlans();
  await gateway.post({ model: 'mock/test-model', messages: [{ role: 'user', content: 'Hi' }] });
  expect(await cli.json(['limits'])).toEqual([]);
  expect((await cli.run(['limits'])).stderr).toContain('gw run --subscription -- claude');
  expect(await cli.json(['status'])).not.toHaveProperty('limits');
});

test("a login's bytes are in no file, log, record or metric of its windows", async () => {
  const { gateway, cli, claude, asClaude, asCodex } = await startWithPlans({ mayLog: /./ });
  await asClaude();
  await asCodex();
  await asClaude({ ...claude.headers(), 'anthropic-ratelimit-unified-5h-utilization': CANARY });
  const said = [
    await cli.run(['limits', '--json']),
    await cli.run(['status', '--json']),
    await cli.run(['doctor', '--json']),
    (await gateway.get('/metrics', { authorization: `Bearer ${gateway.adminKey}` })).text(),
    await gateway.records(),
    gateway.logged,
  ];
  await gateway.daemon.stop();
  expect(JSON.stringify(said)).not.toContain(CANARY);
  const { home } = gateway.paths;
  const files = readdirSync(home, { recursive: true, encoding: 'utf8' }).map((name) => join(home, name));
  expect(files.filter((file) => statSync(file).isFile() && readFileSync(file).includes(CANARY))).toEqual([]);
  expect(files.some((file) => file.endsWith('.db'))).toBe(true);
});
