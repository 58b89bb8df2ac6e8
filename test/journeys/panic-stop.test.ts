import { describe, expect, test } from 'vitest';
import { createRunningCalls } from '../../src/gateway/state/access/running-calls.ts';
import { setPaused } from '../../src/store/accounts/projects.ts';
import { cliHome } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, STREAM, startAlone, type TestGateway } from '../support/gateway.ts';
import { metered } from '../support/metered.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const BUDGET = { budget: { period: 'daily' as const, capUsd: 10 } };
const SENTENCE = 'project default is paused. To resume it: gw projects resume default';
/** When a daemon notices what only the database says. */
const SWEEP_MS = 5_000;

/** A daemon, and the command line on its home and, through GW_URL, from elsewhere. */
async function served() {
  const clock = createVirtualClock();
  const gateway = await startAlone({ ...BUDGET, clock });
  const here = cliHome({ timezone: 'UTC' });
  here.paths = gateway.paths;
  here.clock = clock;
  Object.assign(here.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
  const away = cliHome({ timezone: 'UTC' });
  Object.assign(away.env, { GW_URL: gateway.origin, GW_KEY: gateway.adminKey });
  return { gateway, clock, here, away };
}

/** A request whose provider has generated something. */
async function running(gateway: TestGateway, body: object, key = gateway.key) {
  const ticks = createGate();
  gateway.upstream.queue(metered({ tokens: 1_000, perTick: 5, tick: ticks.pass }));
  const headers = { authorization: `Bearer ${key}` };
  const connection = await gateway.open({ ...body, max_tokens: 2_000 }, { headers });
  const seen = await gateway.upstream.nextRequest();
  ticks.open(2);
  await ticks.reached();
  return { connection, seen, goOn: ticks.openForGood };
}

function spent({ db }: TestGateway) {
  return db
    .prepare('SELECT sum(posted_nano_usd) AS posted, sum(pending_nano_usd) AS pending FROM budget_periods')
    .get();
}

describe('gw projects pause --cut', () => {
  test('ends a running stream with the reason, books its cost, and resume lets requests in again', async () => {
    const { gateway, here } = await served();
    const { connection, seen } = await running(gateway, STREAM);
    await connection.bodyUntil('tok tok');
    const paused = await here.run(['projects', 'pause', '--all', '--cut']);
    expect([paused.code, paused.stderr]).toEqual([
      0,
      expect.stringContaining('Paused all projects (default)'),
    ]);
    const answer = await connection.response();
    expect([answer.status, answer.complete]).toEqual([200, false]);
    expect(answer.text()).toContain(`{"error":{"message":"${SENTENCE}"`);
    expect(answer.text()).toContain('"code":"project_paused"');
    await seen.done;
    const [record] = await gateway.settled(1);
    expect(record).toMatchObject({
      outcome: 'refused',
      status: 200,
      flags: ['stream', 'estimated'],
      detail: { error: 'project_paused' },
    });
    // The host may go on without gw, up to the limit.
    expect(record?.outputTokens).toBe(2_000);
    expect(spent(gateway)).toEqual({ posted: record?.costNanoUsd, pending: 0 });

    expect((await gateway.post(PLAIN)).json()).toMatchObject({
      error: { code: 'project_paused', message: SENTENCE },
    });
    expect((await here.run(['projects', 'resume', '--all'])).stderr).toContain('Resumed all projects');
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });

  test('refuses a running request that has no answer yet, through HTTP too, and spares other projects', async () => {
    const { gateway, away } = await served();
    await gateway.newProject('web');
    const web = await gateway.newKey('web');
    const other = await running(gateway, STREAM, web);
    const { connection } = await running(gateway, PLAIN);
    expect((await away.run(['projects', 'pause', 'default', '--cut'])).code).toBe(0);
    const answer = await connection.response();
    expect([answer.status, answer.json()]).toEqual([
      403,
      { error: { message: SENTENCE, type: 'permission_error', param: null, code: 'project_paused' } },
    ]);
    expect(answer.header('x-service-cost-usd')).toBe('0.004009');
    expect(await gateway.records()).toMatchObject([{ outcome: 'refused', status: 403, outputTokens: 2_000 }]);
    expect(gateway.holds()).toBe(1);
    other.goOn();
    expect((await other.connection.response()).complete).toBe(true);
  });

  test('is noticed by a daemon that nobody asks anything', async () => {
    const { gateway, clock } = await served();
    const { connection } = await running(gateway, STREAM);
    await setPaused(gateway.db, 'default', clock.now(), clock.now());
    await setPaused(gateway.db, 'default', null);
    await clock.advance(SWEEP_MS);
    expect((await connection.response()).text()).toContain('"code":"project_paused"');
    expect((await gateway.post(PLAIN)).status).toBe(200);
  });

  test('speaks the words of each API', async () => {
    const { gateway, away } = await served();
    await away.run(['projects', 'pause', '--all', '--cut']);
    const answer = await request(`${gateway.url}/messages`, {
      headers: { 'x-api-key': gateway.key, 'anthropic-version': '2023-06-01' },
      body: { ...PLAIN, max_tokens: 5 },
    });
    expect([answer.status, answer.json()]).toEqual([
      403,
      {
        type: 'error',
        error: expect.objectContaining({ type: 'permission_error', message: SENTENCE }),
        request_id: expect.anything(),
      },
    ]);
  });

  test('without --cut, lets running requests end', async () => {
    const { gateway, clock, here } = await served();
    const { connection, goOn } = await running(gateway, STREAM);
    await here.run(['projects', 'pause', 'default']);
    await clock.advance(SWEEP_MS);
    goOn();
    expect((await connection.response()).complete).toBe(true);
    expect(await gateway.settled(1)).toMatchObject([{ outcome: 'ok', outputTokens: 1_000 }]);
  });

  test.each([
    ['pause', 'name a project, or use --all: gw projects pause PROJECT, or gw projects pause --all'],
    ['pause default --all', 'name a project, or use --all'],
    ['resume', 'name a project, or use --all: gw projects resume PROJECT, or gw projects resume --all'],
  ])('gw projects %s exits with 2', async (line, message) => {
    const cli = cliHome();
    const { code, stderr } = await cli.run(['projects', ...line.split(' ')]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('running calls', () => {
  const calls = (...before: [number, number][]) => {
    const cut: string[] = [];
    const at = (cutAt: number, isPaused = true) => ({ cutAt, isPaused });
    const running = createRunningCalls(new Map(before.map(([id, cutAt]) => [id, at(cutAt)])));
    const call = (name: string) => ({ index: -1, cut: () => void cut.push(name), progress: () => undefined });
    return { cut, at, running, call };
  };

  test('are cut once for each cut, and not for one from before the start', () => {
    const { cut, at, running, call } = calls([1, 5]);
    const one = call('one');
    running.add(1, one);
    running.apply(new Map([[1, at(5)]]));
    expect(cut).toEqual([]);
    running.apply(new Map([[1, at(6)]]));
    running.apply(new Map([[1, at(6)]]));
    expect(cut).toEqual(['one']);
    running.remove(1, one);
    running.apply(new Map([[1, at(7)]]));
    expect(cut).toEqual(['one']);
  });

  test('are cut even if their project was resumed before the daemon noticed', () => {
    const { cut, at, running, call } = calls();
    running.add(1, call('one'));
    running.add(2, call('two'));
    running.apply(new Map([[1, at(5, false)]]));
    expect([cut, running.isCut(1), running.isCut(2)]).toEqual([['one'], false, false]);
    running.apply(new Map([[1, at(6)]]));
    expect(running.isCut(1)).toBe(true);
  });
});
