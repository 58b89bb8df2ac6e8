import { describe, expect, test } from 'vitest';
import { formatRequestId } from '../../src/ids.ts';
import type { AskView } from '../../src/operations/schemas/asks.ts';
import { revokeKey } from '../../src/store/accounts/keys.ts';
import { setPaused } from '../../src/store/accounts/projects.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { type RawResponse, type RequestParts, request } from '../support/client.ts';
import { type GatewayOptions, PLAIN, startAlone, type TestGateway, until } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const BODY = { ...PLAIN, max_tokens: 50 };
const DAILY = { period: 'daily' as const, capUsd: 0, onLimit: 'ask' as const };
/** When waiting requests look for their answers. */
const LOOK_MS = 200;

async function served({
  how = 'locally',
  ...options
}: GatewayOptions & { how?: 'locally' | 'remotely' } = {}) {
  const clock = createVirtualClock();
  const gateway = await startAlone({ clock, budget: DAILY, ...options });
  const cli = commandLineOf(gateway, how, clock);
  const asks = () => cli.json<AskView[]>(['asks']);
  /** Sends a request and returns the question that it waits with, the last of `count`. */
  const waiting = async (parts: RequestParts = {}, count = 1) => {
    const answer = gateway.post(BODY, parts);
    let open: AskView[] = [];
    await until(async () => {
      open = await asks();
      return open.length === count;
    });
    return { answer, ask: open.at(-1) as AskView };
  };
  const look = () => clock.advance(LOOK_MS);
  /** Moves time on until a waiting request has its response. */
  const answered = async (answer: Promise<RawResponse>) => {
    let isDone = false;
    const done = answer.finally(() => {
      isDone = true;
    });
    await until(async () => {
      await look();
      return isDone;
    });
    return done;
  };
  return { clock, gateway, cli, asks, waiting, look, answered };
}

function money({ db }: Pick<TestGateway, 'db'>) {
  return db
    .prepare(
      'SELECT coalesce(sum(posted_nano_usd), 0) AS posted, coalesce(sum(pending_nano_usd), 0) AS pending FROM budget_periods',
    )
    .get() as { posted: number; pending: number };
}

const NOTHING = { posted: 0, pending: 0 };

const states = ({ db }: TestGateway) => db.prepare('SELECT state FROM asks').pluck().all();

const requested = ({ db }: TestGateway) =>
  (
    db.prepare("SELECT data FROM events WHERE type = 'request.approval_requested'").pluck().all() as string[]
  ).map((data) => JSON.parse(data) as Record<string, unknown>);

describe.each(['locally', 'remotely'] as const)('a request that a budget asks about, %s', (how) => {
  test('goes on when it is approved for once, alone, and the budget stays', async () => {
    const { gateway, cli, asks, waiting, answered } = await served({ how });
    const { answer, ask } = await waiting();
    expect(gateway.upstream.requests).toEqual([]);
    expect(money(gateway)).toEqual(NOTHING);
    expect(ask).toMatchObject({
      id: ask.request_id.replace('req_', 'ask_'),
      budget_id: 'default/daily',
      state: 'open',
      expires_at: '2026-01-01T12:01:00.000Z',
    });
    expect(requested(gateway)).toMatchObject([
      { ask_id: ask.id, budget_id: 'default/daily', needed_usd: ask.needed_usd },
    ]);
    const approved = await cli.run(['approve', ask.id, '--once']);
    expect([approved.code, approved.stderr]).toEqual([
      0,
      expect.stringContaining(`Approved ${ask.id}: request ${ask.request_id} may cost up to`),
    ]);
    expect((await answered(answer)).status).toBe(200);
    const [record] = await gateway.settled(1);
    expect(record?.holdNanoUsd).toBe(ask.needed_nano_usd);
    expect(record?.costNanoUsd).toBeGreaterThan(0);
    expect(money(gateway)).toEqual({ posted: record?.costNanoUsd, pending: 0 });
    expect(await asks()).toEqual([]);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 0, on_limit: 'ask' }]);
    const again = await cli.run(['approve', ask.id]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('was approved before')]);

    const next = await waiting();
    expect((await cli.run(['deny', next.ask.id])).code).toBe(0);
    const denied = await answered(next.answer);
    expect([denied.status, denied.json()]).toMatchObject([402, { error: { code: 'budget_exceeded' } }]);
    expect(denied.header('x-should-retry')).toBe('false');
    expect(money(gateway)).toEqual({ posted: record?.costNanoUsd, pending: 0 });
    expect((await gateway.settled(2))[1]).toMatchObject({ outcome: 'blocked', status: 402, costNanoUsd: 0 });
    for (const command of ['approve', 'deny']) {
      const late = await cli.run([command, next.ask.id]);
      expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('was denied before')]);
      expect((await cli.run([command, 'ask_00000000000'])).code).toBe(5);
    }
  });

  test('goes on when the budget is raised by enough', async () => {
    const { gateway, cli, waiting, look, answered } = await served({ how });
    const { answer, ask } = await waiting();
    const small = await cli.run(['approve', ask.id, '--raise', '0.0000001']);
    expect([small.code, small.stderr]).toEqual([2, expect.stringContaining('is too little')]);
    expect((await cli.run(['approve', ask.id, '--raise', '2', '--once'])).code).toBe(2);
    expect((await cli.run(['approve', ask.id, '--raise', 'much'])).code).toBe(2);
    await look();
    const raised = await cli.run(['approve', ask.id, '--raise', '2']);
    expect([raised.code, raised.stderr]).toEqual([
      0,
      expect.stringContaining('budget default/daily is raised by $2.00'),
    ]);
    expect((await answered(answer)).status).toBe(200);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 2 }]);
    expect((await gateway.post(BODY)).status).toBe(200);
    expect(requested(gateway)).toHaveLength(1);
  });
});

describe('a request that a budget asks about', () => {
  test('is refused as usual when nobody answers in time, and a late answer is told so', async () => {
    const { clock, gateway, cli, asks, waiting } = await served({
      settings: { 'admission.ask_wait_s': 5 },
    });
    const { answer, ask } = await waiting();
    await clock.advance(4_900);
    expect(await asks()).toHaveLength(1);
    await clock.advance(300);
    expect((await answer).json()).toMatchObject({
      error: { code: 'budget_exceeded', budget_id: 'default/daily', cap_usd: 0 },
    });
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'blocked', costNanoUsd: 0 }]);
    expect(money(gateway)).toEqual(NOTHING);
    expect(await asks()).toEqual([]);
    const late = await cli.run(['approve', ask.id]);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('has expired')]);
    const raise = await cli.run(['approve', ask.id, '--raise', '5']);
    expect([raise.code, raise.stderr]).toEqual([1, expect.stringContaining('has expired')]);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 0 }]);
  });

  test('waits at most half of what its client says it waits, and not at all where nobody is asked', async () => {
    const { clock, gateway, asks, waiting } = await served();
    const { answer, ask } = await waiting({ headers: { 'x-stainless-timeout': '8' } });
    expect(ask.expires_at).toBe('2026-01-01T12:00:04.000Z');
    await clock.advance(4_200);
    expect((await answer).status).toBe(402);
    gateway.configure({ 'admission.ask_wait_s': 0 });
    expect((await gateway.post(BODY)).status).toBe(402);
    expect(await asks()).toEqual([]);
  });

  test('waits less once its client was seen to give up twice after the same time', async () => {
    const { clock, gateway, waiting } = await served();
    const headers = { 'user-agent': 'impatient/1.0' };
    for (let i = 0; i < 2; i++) {
      const open = await gateway.open(BODY, { headers });
      await until(() => states(gateway).includes('open'));
      await clock.advance(10_000);
      open.hangUp();
      await until(async () => {
        await clock.advance(LOOK_MS);
        return !states(gateway).includes('open');
      });
    }
    expect(await gateway.settled(2)).toMatchObject([{ outcome: 'client_gone' }, { outcome: 'client_gone' }]);
    const { answer, ask } = await waiting({ headers });
    const waitsMs = Date.parse(ask.expires_at) - Date.parse(ask.created_at);
    expect(waitsMs).toBeGreaterThanOrEqual(5_000);
    expect(waitsMs).toBeLessThan(6_000);
    await clock.advance(6_000);
    expect((await answer).status).toBe(402);
  });

  test('costs nothing when its client hangs up, and can be approved no more', async () => {
    const { gateway, cli, asks, look } = await served();
    const open = await gateway.open(BODY);
    await until(() => states(gateway).includes('open'));
    const [ask] = await asks();
    open.hangUp();
    await until(async () => {
      await look();
      return states(gateway).includes('ended');
    });
    expect(await gateway.settled(1)).toMatchObject([
      { outcome: 'client_gone', status: 499, costNanoUsd: 0, holdNanoUsd: 0 },
    ]);
    expect(money(gateway)).toEqual(NOTHING);
    const late = await cli.run(['approve', ask?.id ?? '']);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('has ended')]);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('goes on by itself when there is room, and needs no approval then', async () => {
    const { gateway, cli, waiting, answered } = await served();
    const first = await waiting();
    await cli.run(['budget', 'raise', '3']);
    const late = await cli.run(['approve', first.ask.id, '--raise', '3']);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('has $3.00 left by now')]);
    expect((await answered(first.answer)).status).toBe(200);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 3 }]);
    await cli.run(['budget', 'set', '0']);
    const second = await waiting();
    await cli.run(['budget', 'remove', 'default/daily']);
    const removed = await cli.run(['approve', second.ask.id]);
    expect([removed.code, removed.stderr]).toEqual([1, expect.stringContaining('was removed')]);
    expect((await answered(second.answer)).status).toBe(200);
    expect(states(gateway)).toEqual(['ended', 'ended']);
  });

  test('is refused when its project is paused, its key revoked or its budget blocks again', async () => {
    const { gateway, cli, waiting, answered } = await served();
    const paused = await waiting();
    await setPaused(gateway.db, 'default', 1, null);
    expect((await answered(paused.answer)).json()).toMatchObject({ error: { code: 'project_paused' } });
    await setPaused(gateway.db, 'default', null, null);

    const key = await gateway.newKey('default');
    const revoked = await waiting({ headers: { authorization: `Bearer ${key}` } });
    const id = gateway.db.prepare('SELECT max(id) FROM keys').pluck().get() as number;
    await cli.run(['approve', revoked.ask.id]);
    await revokeKey(gateway.db, id, 1);
    expect((await answered(revoked.answer)).json()).toMatchObject({ error: { code: 'invalid_api_key' } });

    const blocked = await waiting();
    expect((await cli.run(['budget', 'set', '0', '--on-limit', 'block'])).code).toBe(0);
    expect((await answered(blocked.answer)).status).toBe(402);
    expect(money(gateway)).toEqual(NOTHING);
    expect(gateway.upstream.requests).toEqual([]);
  });

  test('is refused at once where another budget that has no room blocks', async () => {
    const { gateway, cli, asks, waiting, look, answered } = await served();
    await gateway.setBudget({ period: 'monthly', capUsd: 0 });
    expect((await gateway.post(BODY)).json()).toMatchObject({ error: { code: 'budget_exceeded' } });
    expect(await asks()).toEqual([]);
    // One answer is for all budgets that ask.
    await gateway.setBudget({ period: 'monthly', capUsd: 0, onLimit: 'ask' });
    const both = await waiting();
    await cli.run(['approve', both.ask.id, '--once']);
    expect((await answered(both.answer)).status).toBe(200);
    // A raise is for one.
    const raised = await waiting();
    await cli.run(['approve', raised.ask.id, '--raise', '1']);
    await look();
    await until(async () => (await asks()).length > 0);
    const [again] = await asks();
    expect(new Set([raised.ask.budget_id, again?.budget_id])).toEqual(
      new Set(['default/daily', 'default/monthly']),
    );
    expect(requested(gateway)).toHaveLength(3);
    await cli.run(['approve', again?.id ?? '', '--raise', '1']);
    expect((await answered(raised.answer)).status).toBe(200);
    expect(await cli.json(['budget', 'list'])).toMatchObject([{ cap_usd: 1 }, { cap_usd: 1 }]);
  });

  test('never goes beyond what was approved, even among many', async () => {
    const { gateway, cli, asks, look } = await served();
    const answers = Array.from({ length: 20 }, () => gateway.post(BODY));
    await until(async () => (await asks()).length === 20);
    const open = await asks();
    const approved = open.filter((_, i) => i % 2 === 0);
    for (const { id } of approved) await cli.run(['approve', id]);
    for (const [i, { id }] of open.entries()) if (i % 4 === 1) await cli.run(['deny', id]);
    await until(async () => {
      await look();
      return (await gateway.records()).length >= 15;
    });
    await gateway.settled(15);
    // The rest waits on, and one raise lets in as many as fit, in their order.
    const waiting = await asks();
    expect(waiting.map(({ id }) => id)).toEqual(open.filter((_, i) => i % 4 === 3).map(({ id }) => id));
    const before = money(gateway);
    const records = await gateway.settled(15);
    expect(before).toEqual({
      posted: records.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0),
      pending: 0,
    });
    expect(before.posted).toBeLessThanOrEqual(approved.reduce((sum, ask) => sum + ask.needed_nano_usd, 0));
    await cli.run(['approve', waiting[0]?.id ?? '', '--raise', '1']);
    await look();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(15);
    expect(await asks()).toEqual([]);
  });

  test('holds back no request that fits', async () => {
    const { gateway, cli, asks, answered } = await served({ budget: { ...DAILY, capUsd: 0.001 } });
    const large = gateway.post({ ...BODY, messages: [{ role: 'user', content: 'x'.repeat(5_000) }] });
    await until(async () => (await asks()).length === 1);
    expect((await gateway.post(BODY)).status).toBe(200);
    const [ask] = await asks();
    await cli.run(['approve', ask?.id ?? '']);
    expect((await answered(large)).status).toBe(200);
  });

  test('is answered by an admin key alone', async () => {
    const { gateway, cli, waiting, answered } = await served();
    const { answer, ask } = await waiting();
    const call = (path: string, body: object, key = gateway.key) =>
      request(`${gateway.origin}/v1/gw/asks/${path}`, {
        body,
        headers: { authorization: `Bearer ${key}` },
      });
    expect((await call(`${ask.id}/approve`, {})).json()).toMatchObject({ error: { code: 'admin_required' } });
    expect((await call(`${ask.id}/deny`, {})).status).toBe(403);
    expect((await call('ask_unknown/approve', {})).status).toBe(403);
    expect((await call('ask_unknown/approve', {}, gateway.adminKey)).status).toBe(404);
    expect((await call(`${ask.id}/approve`, { once: true, raise_usd: 1 }, gateway.adminKey)).status).toBe(
      400,
    );
    const mine = await gateway.get('/v1/gw/asks');
    expect(mine.json()).toMatchObject({ data: [{ id: ask.id }] });
    await gateway.newProject('other');
    const other = await gateway.newKey('other');
    expect((await gateway.get('/v1/gw/asks', { authorization: `Bearer ${other}` })).json()).toMatchObject({
      data: [],
    });
    await cli.run(['deny', ask.id]);
    expect((await answered(answer)).status).toBe(402);
  });

  test('is told of by webhooks that name its event, and by no others', async () => {
    const { gateway, cli, waiting, answered } = await served();
    const webhook = async (fields: object) => {
      const body = { url: 'http://127.0.0.1:9/hook', ...fields };
      const headers = { authorization: `Bearer ${gateway.adminKey}` };
      return (await request(`${gateway.origin}/v1/webhooks`, { body, headers })).json() as { id: string };
    };
    await webhook({});
    const asked = await webhook({ events: ['request.approval_requested'] });
    const { answer, ask } = await waiting();
    const rows = gateway.db.prepare("SELECT 'wh_' || endpoint_id FROM deliveries").pluck().all();
    expect(rows).toEqual([asked.id]);
    await cli.run(['deny', ask.id]);
    await answered(answer);
  });

  test('is refused when the daemon stops', async () => {
    const { gateway, waiting } = await served();
    const { answer } = await waiting();
    const stopped = gateway.daemon.stop();
    expect((await answer).status).toBe(402);
    await stopped;
    expect(states(gateway)).toEqual(['expired']);
    expect(money(gateway)).toEqual(NOTHING);
  });

  test('of a cap for each is approved for once alone', async () => {
    const { gateway, cli, waiting, answered } = await served({ budget: { ...DAILY, capUsd: 5 } });
    await cli.run(['budget', 'set', '0', '--per', 'key', '--on-limit', 'ask']);
    const { answer, ask } = await waiting();
    expect(ask.budget_id).toMatch(/^default\/daily@key:/);
    const raise = await cli.run(['approve', ask.id, '--raise', '1']);
    expect([raise.code, raise.stderr]).toEqual([2, expect.stringContaining(`gw approve ${ask.id} --once`)]);
    await cli.run(['approve', ask.id]);
    expect((await answered(answer)).status).toBe(200);
    await gateway.settled(1);
  });
});

test('kill -9 while a request waits leaves neither money nor a question', async () => {
  const upstream = await startUpstream();
  const home = await prepareHome(tmpHome(), { upstreamUrl: upstream.url, budget: DAILY });
  const daemon = await spawnDaemon(home.paths.home);
  const parts = { body: BODY, headers: { authorization: `Bearer ${home.key}` } };
  const answer = request(`${daemon.url}/chat/completions`, parts).catch(() => undefined);
  const open = home.db.prepare("SELECT request_id FROM asks WHERE state = 'open'").pluck();
  await until(() => open.get() !== undefined);
  const id = formatRequestId(open.get() as number, 'ask');
  daemon.kill('SIGKILL');
  await daemon.exited;
  await answer;
  const cli = commandLineOf(
    { paths: home.paths, adminKey: '', origin: '', daemon: { port: 0 } as never },
    'locally',
    createVirtualClock(Date.now()),
  );
  expect(await cli.json(['asks'])).toEqual([]);
  const dead = await cli.run(['approve', id, '--raise', '5']);
  expect([dead.code, dead.stderr]).toEqual([1, expect.stringContaining('is not running any more')]);
  const next = await spawnDaemon(home.paths.home);
  expect(await cli.json(['asks'])).toEqual([]);
  expect(open.all()).toEqual([]);
  expect((await cli.run(['approve', id])).stderr).toContain('has ended');
  expect(money(home)).toEqual(NOTHING);
  expect(home.holds()).toBe(0);
  next.kill('SIGTERM');
  await next.exited;
  expect(upstream.requests).toEqual([]);
  home.db.close();
  await upstream.close();
});
