import { cpSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { formatRequestId } from '../../src/ids.ts';
import { changeConfiguration } from '../../src/store/database/write.ts';
import { readMembership, removeMembership } from '../../src/store/team/membership.ts';
import { commandLineOf } from '../cli/cli-home.ts';
import { completion } from '../support/chat-scripts.ts';
import { PLAIN, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createModelTeam, type ModelTeam } from './support/model-team.ts';

/** A request holds $0.001 at most and costs as much. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 100 };
const COST_USD = 0.001;

async function startTeam({
  capUsd = 1,
  gateways = 2,
} = {}): Promise<{ team: ModelTeam; members: TestGateway[] }> {
  const team = createModelTeam({ capUsd });
  const upstream = await startUpstream({
    script: completion({
      content: 'Hi',
      usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 },
    }),
  });
  onTestFinished(() => upstream.close());
  const members: TestGateway[] = [];
  for (let id = 1; id <= gateways; id++) {
    const gateway = await startGateway({ upstream, price: PRICE, openTeam: team.openTeam });
    team.join(gateway, id);
    members.push(gateway);
  }
  for (const gateway of members) await until(() => joined(gateway));
  return { team, members };
}

/** A request has the daemon look for changes of its configuration. */
const joined = async ({ db, get }: TestGateway) =>
  (await get('/v1/budgets')) && readMembership(db)?.syncedAt != null;

test('gateways spend a cap together, to the last request that it can pay, and no more', async () => {
  const { team, members } = await startTeam({ capUsd: 0.02 });
  const statuses: number[] = [];
  for (let i = 0; i < 24; i++) {
    const answer = await members[i % 2]?.post(BODY);
    if (answer) statuses.push(answer.status);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.slice(0, 20)).not.toContain(402);
  for (const gateway of members) await gateway.stop();
  expect(team.sums()).toEqual({ allocated: 20 * COST_USD * 1e9, spent: 20 * COST_USD * 1e9 });
});

test('a gateway spends what it was granted while the team is away, then says since when and what was left', async () => {
  const { team, members } = await startTeam({ gateways: 1 });
  const [gateway] = members as [TestGateway];
  gateway.configure({ 'admission.max_wait_ms': 300 });
  expect((await gateway.post(BODY)).status).toBe(200);
  team.isDown = true;
  const answers = [];
  do answers.push(await gateway.post(BODY));
  while (answers.at(-1)?.status === 200);
  const { error } = JSON.parse(String(answers.at(-1)?.body));
  expect(answers.length).toBeGreaterThan(2);
  expect(error).toMatchObject({ code: 'team_unreachable', team: true, budget_id: '@team/daily', cap_usd: 1 });
  expect(error.team_left_usd).toBeCloseTo(1 - COST_USD * answers.length, 6);
  expect(error.message).toMatch(/has not answered since 20\d\d-.*gw team status/);
  team.isDown = false;
  await until(async () => (await gateway.post(BODY)).status === 200);
});

test('a request waits for a cap that was raised while the gateway was idle', async () => {
  const { team, members } = await startTeam({ capUsd: 0.001, gateways: 1 });
  const [gateway] = members as [TestGateway];
  expect((await gateway.post(BODY)).status).toBe(200);
  expect((await gateway.post(BODY)).status).toBe(402);
  team.setCap(1e9);
  await until(async () => (await gateway.post(BODY)).status === 200);
});

test('an idle gateway says nothing, and returns what it has', async () => {
  const { team, members } = await startTeam({ gateways: 1 });
  const [gateway] = members as [TestGateway];
  await gateway.post(BODY);
  await gateway.stop();
  expect(team.sums()).toEqual({ allocated: COST_USD * 1e9, spent: COST_USD * 1e9 });
});

test('a copy of a state directory spends none of the money, until it joins as a gateway of its own', async () => {
  const team = createModelTeam({ capUsd: 1 });
  const gateway = await startGateway({ price: PRICE, openTeam: team.openTeam });
  team.join(gateway, 1);
  await until(() => joined(gateway));
  await gateway.post(BODY);
  await gateway.stop();
  const copied = tmpHome();
  cpSync(gateway.paths.home, copied, { recursive: true });
  const made = new Database(join(copied, 'gw.db'));
  made.exec('UPDATE team_membership SET synced_at = synced_at - 60000');
  made.close();
  const copy = await startGateway({
    home: copied,
    price: PRICE,
    openTeam: team.openTeam,
    mayLog: /is a copy/,
  });
  const answer = await copy.post(BODY);
  expect(answer.status).toBe(503);
  expect(String(answer.body)).toContain('gw team status');
  expect(readMembership(copy.db)?.failure).toMatch(/is a copy.*gw team join/);
  changeConfiguration(copy.db, () => removeMembership(copy.db, Date.now()));
  team.join(copy, 2);
  await until(() => joined(copy));
  expect((await copy.post(BODY)).status).toBe(200);
});

test('a copy that no fingerprint tells apart is fenced by the one that started last, and can join anew', async () => {
  const { team, members } = await startTeam({ gateways: 1 });
  const [gateway] = members as [TestGateway];
  expect((await gateway.post(BODY)).status).toBe(200);
  gateway.configure({ 'admission.max_wait_ms': 100 });
  const known = readMembership(gateway.db);
  team.model.hello(1, known?.nonce, 'of the copy');
  await until(async () => (await gateway.post(BODY)).status !== 200);
  await until(() => readMembership(gateway.db)?.failure != null);
  expect(readMembership(gateway.db)).toMatchObject({
    fingerprint: '',
    failure: expect.stringMatching(/another copy.*gw team join URL/),
  });
  changeConfiguration(gateway.db, () => removeMembership(gateway.db, Date.now()));
  team.join(gateway, 2);
  await until(() => joined(gateway));
  expect((await gateway.post(BODY)).status).toBe(200);
});

test('budgets of the team are marked, with what is granted here and what the team has left', async () => {
  const { members } = await startTeam({ gateways: 1 });
  const [gateway] = members as [TestGateway];
  await gateway.post(BODY);
  await gateway.committed();
  const { data } = JSON.parse(String((await gateway.get('/v1/budgets')).body));
  expect(data).toMatchObject([
    { id: '@team/daily', team: true, cap_usd: 1, spent_usd: COST_USD, team_left_usd: 1 - COST_USD },
  ]);
  expect(data[0].granted_usd).toBeGreaterThan(0);
});

test.each(['locally', 'remotely'] as const)(
  'a budget of the team stands wherever a local one does, %s, and is changed by an admin of the team alone',
  async (how) => {
    const { members } = await startTeam({ capUsd: 0.001, gateways: 1 });
    const [gateway] = members as [TestGateway];
    expect((await gateway.post(BODY)).status).toBe(200);
    const refused = await gateway.post(BODY);
    expect(refused.status).toBe(402);
    const { error } = JSON.parse(String(refused.body));
    expect(error).toMatchObject({
      budget_id: '@team/daily',
      team: true,
      granted_usd: 0.001,
      team_left_usd: 0,
    });
    expect(error.message).toMatch(
      /budget @team\/daily .*the team has \$0\.00 left, \$0\.0010? was granted to this/,
    );
    expect(error.command).toMatch(/^gw team budgets set \S+ --period daily$/);
    await gateway.setBudget({ period: 'daily', capUsd: 5 });
    const cli = commandLineOf(gateway, how, createVirtualClock(Date.now()));
    expect((await cli.run(['status'])).stdout).toMatch(
      /@team\/daily 100%.*\$0\.00 left for the\s+team,\s+\$0\.0010? granted\s+here/,
    );
    const list = await cli.run(['budget', 'list']);
    expect(list.stdout).toMatch(/granted[\s\S]*@team\/daily .*\$0\.0010? /);
    const [blocked] = (await gateway.records()).filter(({ outcome }) => outcome === 'blocked');
    const id = formatRequestId(blocked?.id ?? 0);
    expect((await cli.run(['requests', id])).stdout).toMatch(
      /budget +@team\/daily had no room: \$0\.0010? spent and \$0\.00 held of \$0\.0010?; \$0\.00\s+left for the\s+team,\s+\$0\.0010? granted\s+here/,
    );
    expect((await cli.run(['dashboard', '--once', '--ascii'])).stdout).toContain('@team/daily');
    for (const name of ['@team/daily', 'team/daily'])
      for (const command of [
        ['raise', '1', name],
        ['remove', name, '--yes'],
      ])
        expect(await cli.run(['budget', ...command])).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(
            /budget @team\/daily is the team's.*gw team budgets (set AMOUNT|remove) --per/,
          ),
        });
    // Those that name none mean the project's own.
    expect((await cli.run(['budget', 'raise', '1'])).stderr).toContain('of $6.00');
    expect((await cli.run(['budget', 'remove', '--yes'])).stderr).toContain('Removed budget default/daily');
    const headers = { authorization: `Bearer ${gateway.adminKey}` };
    const raised = await gateway.post(
      { budget_id: '@team/daily', amount_usd: 1 },
      { path: '/v1/gw/budgets/raise', headers },
    );
    expect(raised.status).toBe(400);
    expect(String(raised.body)).toContain('gw team budgets set AMOUNT --period daily');
  },
);

test('a gateway that was forgotten comes back with its next sync, and what it spent replaces what was assumed', async () => {
  const { team, members } = await startTeam({ gateways: 1 });
  const [gateway] = members as [TestGateway];
  expect((await gateway.post(BODY)).status).toBe(200);
  team.model.forget(1);
  expect(team.sums().spent).toBeGreaterThan(COST_USD * 1e9);
  await until(async () => {
    expect((await gateway.post(BODY)).status).toBe(200);
    return team.model.gateway(1).state === 'active';
  });
  const { length } = await gateway.records();
  await gateway.stop();
  expect(team.sums()).toEqual({ allocated: length * COST_USD * 1e9, spent: length * COST_USD * 1e9 });
});

test('a cap below what is granted takes effect with the next grant, and what is out comes back', async () => {
  const { team, members } = await startTeam();
  const [first, second] = members as [TestGateway, TestGateway];
  expect((await first.post(BODY)).status).toBe(200);
  const { allocated } = team.sums();
  team.setCap(COST_USD * 2e9);
  expect(allocated).toBeGreaterThan(COST_USD * 2e9);
  // It waits until the first returns what no request holds.
  expect((await second.post(BODY)).status).toBe(200);
  expect((await second.post(BODY)).status).toBe(402);
  expect((await first.post(BODY)).status).toBe(402);
  for (const gateway of members) await gateway.stop();
  expect(team.sums()).toEqual({ allocated: COST_USD * 2e9, spent: COST_USD * 2e9 });
});

test('two daemons of one state directory spend its limits; the second syncs when the first has ended', async () => {
  const { team, members } = await startTeam({ capUsd: 0.01, gateways: 1 });
  const [first] = members as [TestGateway];
  const second = await startGateway({
    database: first.paths.database,
    upstream: first.upstream,
    price: PRICE,
    openTeam: team.openTeam,
  });
  const daemons = [first, second];
  const statuses: (number | undefined)[] = [];
  const spend = async (count: number, of: TestGateway[]) => {
    for (let i = 0; i < count; i++) statuses.push((await of[i % of.length]?.post(BODY))?.status);
  };
  await spend(6, daemons);
  expect(team.model.state.gateways.get(1)?.seq).toBeGreaterThan(0);
  await first.stop();
  await spend(6, [second]);
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(statuses.slice(10)).toEqual([402, 402]);
  await second.stop();
  expect(team.sums()).toEqual({ allocated: 10 * COST_USD * 1e9, spent: 10 * COST_USD * 1e9 });
});
