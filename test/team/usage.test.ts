import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { TEAM_URL } from '../../src/config/secrets.ts';
import type { TeamUsageView } from '../../src/operations/schemas/usage.ts';
import { createArchive } from '../../src/store/archive/archive.ts';
import type { Db } from '../../src/store/database/open.ts';
import { inTransaction } from '../../src/store/database/write.ts';
import { usageReport } from '../../src/store/reports/usage-report.ts';
import { readMembership } from '../../src/store/team/membership.ts';
import type { TeamGrouping, TeamUsageBatch } from '../../src/store/team/usage.ts';
import type { TeamAuthority } from '../../src/team/authority.ts';
import { createPostgresAuthority } from '../../src/team/postgres/authority.ts';
import { pushUsageOnce } from '../../src/team/usage-push.ts';
import { type CliHome, cliHome, commandLineOf } from '../cli/cli-home.ts';
import { PLAIN, startGateway, until } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { postgresMissing } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { breakFunction, startTeam, type TeamServer } from './team-server.ts';

const RUNS = process.env.GW_LONG ? 100 : 1;
const STEPS = process.env.GW_LONG ? 30 : 9;
const HOUR_MS = 3_600_000;
const missing = postgresMissing({ ownServer: true });

/** A gateway without a daemon: its hours are sent when the test says so. */
interface Member {
  cli: CliHome;
  db: Db;
  authority: TeamAuthority;
  /** The messages that were sent. */
  sent: TeamUsageBatch[];
  /** What becomes of the next message. */
  fate: 'arrives' | 'is lost' | 'answer is lost';
  use(record: {
    hour: number;
    costNanoUsd?: number;
    model?: string;
    keyId?: number;
    projectId?: number;
  }): Promise<void>;
  push(): Promise<boolean>;
  pushAll(): Promise<void>;
}

describe.skipIf(missing)("a team's usage", () => {
  let team: TeamServer;
  beforeAll(async () => {
    team = await startTeam();
  }, 60_000);
  afterAll(async () => {
    for (const each of authorities.values()) await each.close();
    await team?.end();
  });
  beforeEach(() => team.reset());

  const authorities = new Map<string, TeamAuthority>();

  function authorityOf(user: string): TeamAuthority {
    const known = authorities.get(user) ?? createPostgresAuthority(team.url(user));
    authorities.set(user, known);
    return known;
  }

  async function member(name: string, user = 'ann'): Promise<Member> {
    const cli = cliHome({ timezone: 'UTC' });
    expect(await cli.run(['team', 'join', team.url(user), '--name', name])).toMatchObject({ code: 0 });
    const db = await cli.open();
    const authority = authorityOf(user);
    const { gatewayId: gateway = 0, token = '', joinedAt = 0 } = readMembership(db) ?? {};
    const write = async <T>(command: () => T) => inTransaction(db, command);
    let used = 0;
    const made: Member = {
      cli,
      db,
      authority,
      sent: [],
      fate: 'arrives',
      async use({ hour, ...record }) {
        // Whole hours after that of the join.
        const timeMs = joinedAt - (joinedAt % HOUR_MS) + hour * HOUR_MS + ++used;
        await cli.record({ timeMs, provider: 'openai', model: 'm', ...record });
        const archive = createArchive(db);
        while (await write(() => archive.takeOver(timeMs + HOUR_MS)));
      },
      push: () =>
        pushUsageOnce({
          db,
          clock: cli.clock,
          ledger: { writeApart: write },
          identity: { gateway, token },
          log: { info() {}, warn() {} },
          onRefused() {},
          authority: {
            async pushUsage(identity, nonce, batch) {
              made.sent.push(batch);
              if (made.fate === 'is lost') throw new Error('lost');
              const answer = await authority.pushUsage(identity, nonce, batch);
              if (made.fate === 'answer is lost') throw new Error('lost');
              return answer;
            },
          },
        }),
      async pushAll() {
        made.fate = 'arrives';
        while (await made.push());
      },
    };
    return made;
  }

  const boss = () => authorityOf('boss');
  const SPAN = { from: '2000-01-01', to: '2100-01-01' };

  /** Requests and costs by one thing, of the team and of the members' own databases. */
  async function compare(
    members: Member[],
    groupBy: TeamGrouping & ('day' | 'hour' | 'model' | 'project' | 'key'),
  ) {
    const theirs = new Map<string, [number, number]>();
    const add = (map: typeof theirs, key: string, requests: number, cost: number) => {
      const [r, c] = map.get(key) ?? [0, 0];
      map.set(key, [r + requests, c + cost]);
    };
    for (const { db } of members) {
      const { rows } = await usageReport(db, createCalendar('UTC'), { ...SPAN, groupBy });
      for (const { key, requests, costNanoUsd } of rows) add(theirs, key, requests, costNanoUsd);
    }
    const ours = new Map<string, [number, number]>();
    for (const { key, figures } of (await boss().usage({ ...SPAN, groupBy })).sums)
      add(ours, key, figures.requests, figures.cost_nano_usd);
    return { ours: Object.fromEntries(ours), theirs: Object.fromEntries(theirs) };
  }

  /** Uses, sends, loses messages and answers, dies and repeats old messages. Whether all sums are equal at the end. */
  async function play(seed: number, plant?: (member: Member) => void): Promise<boolean> {
    await team.reset();
    const random = seededRandom(`usage ${seed}`);
    const int = (from: number, to: number) => from + (random(4).readUInt32BE() % (to - from + 1));
    const members = [await member('laptop'), await member('ci', 'bob')];
    for (const each of members) plant?.(each);
    for (let step = 0; step < STEPS; step++) {
      const each = members[int(0, 1)] as Member;
      const costNanoUsd = int(1, 1000);
      await each.use({ hour: int(1, 4), costNanoUsd, model: `m${int(0, 1)}` });
      each.fate = (['arrives', 'is lost', 'answer is lost'] as const)[int(0, 2)] ?? 'arrives';
      await each.push().catch(() => {});
      const old = each.sent[int(0, each.sent.length - 1)];
      const { gatewayId = 0, token = '', nonce = '' } = readMembership(each.db) ?? {};
      if (old && int(0, 2) === 0) await each.authority.pushUsage({ gateway: gatewayId, token }, nonce, old);
    }
    for (const each of members) await each.pushAll();
    const { ours, theirs } = await compare(members, 'model');
    return JSON.stringify(Object.entries(ours).sort()) === JSON.stringify(Object.entries(theirs).sort());
  }

  async function isCaught(plant?: (member: Member) => void): Promise<boolean> {
    for (let seed = 1; seed <= 5; seed++) if (!(await play(seed, plant))) return true;
    return false;
  }

  test(
    'sums are those of the local databases, whatever is lost, repeated, late or dies',
    async () => {
      for (let seed = 1; seed <= RUNS; seed++)
        expect({ seed, equal: await play(seed) }).toEqual({ seed, equal: true });
    },
    20_000 + RUNS * 3_000,
  );

  test.each([
    ['what is pushed twice counts double', 'cost = excluded.cost', 'cost = u.cost + excluded.cost'],
    ['late messages count', 'p_seq <= g.usage_seq', 'false'],
  ])('%s: caught', async (_, from, to) => {
    const repair = await breakFunction(team.su, 'push_usage', from, to);
    onTestFinished(repair);
    expect(await isCaught()).toBe(true);
  });

  test('a restart that loses an hour: caught', async () => {
    const forgets = ({ db }: Member) =>
      db.exec(`CREATE TRIGGER forgets AFTER UPDATE OF usage_seq ON team_membership
        BEGIN DELETE FROM team_usage_dirty; END`);
    expect(await isCaught(forgets)).toBe(true);
  });

  test('docs/teams.md lists every column of usage that leaves a machine, and what is sent has no other', async () => {
    const docs = readFileSync(new URL('../../docs/teams.md', import.meta.url), 'utf8');
    const [, table = ''] = /all columns of the table `usage_hours`:\n\n([\s\S]*?)\n\n/.exec(docs) ?? [];
    const listed = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, column]) => column);
    const { rows } = await team.su.query<{ column: string }>(
      `SELECT column_name AS column FROM information_schema.columns
       WHERE table_schema = 'gw_team' AND table_name = 'usage_hours'`,
    );
    expect(listed.sort()).toEqual(rows.map(({ column }) => column).sort());
    const laptop = await member('laptop');
    await laptop.use({ hour: 1 });
    await laptop.push();
    const renamed = (name: string) =>
      ({ key: 'key_label', cost_nano_usd: 'cost', saved_nano_usd: 'saved' })[name] ?? name;
    const sent = Object.keys(laptop.sent[0]?.rows[0] ?? {}).map(renamed);
    // The database sets these.
    expect([...sent, 'gateway_id', 'member'].sort()).toEqual(listed);
  });

  test('catches up after a time offline, a bounded message at a time', async () => {
    const laptop = await member('laptop');
    for (let hour = 1; hour <= 26; hour++) await laptop.use({ hour, costNanoUsd: hour });
    await laptop.pushAll();
    expect(laptop.sent.map(({ buckets }) => buckets.length)).toEqual([24, 2]);
    for (const groupBy of ['day', 'hour'] as const) {
      const { ours, theirs } = await compare([laptop], groupBy);
      expect(ours).toEqual(theirs);
      expect(Object.keys(ours)).toHaveLength(groupBy === 'hour' ? 24 : 2);
    }
  });

  test('sends all since the join again to a server that lost what it was told', async () => {
    const laptop = await member('laptop');
    for (const hour of [1, 2, 30]) await laptop.use({ hour, costNanoUsd: hour });
    await laptop.pushAll();
    await team.su.query(
      "DELETE FROM usage_hours; UPDATE gateways SET usage_seq = 0; UPDATE team SET incarnation = 'manual:1'",
    );
    onTestFinished(
      async () =>
        void (await team.su.query('UPDATE team SET incarnation = incarnation_now(), frozen_since = NULL')),
    );
    laptop.db.exec("UPDATE team_membership SET incarnation = 'before'");
    const gateway = await startGateway({
      home: laptop.cli.paths.home,
      credentials: { mock: 'provider-key', [TEAM_URL]: team.url('ann') },
    });
    await until(() => readMembership(gateway.db)?.incarnation === 'manual:1');
    await gateway.stop();
    const { ours, theirs } = await compare([laptop], 'day');
    expect(ours).toEqual(theirs);
    expect(Object.keys(ours)).toHaveLength(2);
  });

  test('what was used before the join stays here, in the same hour too', async () => {
    const cli = cliHome({ timezone: 'UTC' });
    const now = cli.clock.now();
    await cli.record({ timeMs: now - 1, costNanoUsd: 7 });
    expect((await cli.run(['team', 'join', team.url('ann')])).code).toBe(0);
    await cli.record({ timeMs: now, costNanoUsd: 5 });
    expect((await cli.run(['team', 'leave'])).stdout).toContain('left the team');
    const { sums } = await boss().usage({ ...SPAN, groupBy: 'model' });
    expect(sums.map(({ figures }) => figures.cost_nano_usd)).toEqual([5]);
  });

  test('a project and a key that are renamed count once, under their last names', async () => {
    const laptop = await member('laptop');
    await laptop.use({ hour: 1, costNanoUsd: 3 });
    await laptop.pushAll();
    laptop.db.exec("UPDATE projects SET name = 'site' WHERE id = 1");
    await laptop.use({ hour: 1, costNanoUsd: 4 });
    await laptop.pushAll();
    const { sums } = await boss().usage({ ...SPAN, groupBy: 'project' });
    expect(sums).toMatchObject([{ key: 'site', figures: { requests: 2, cost_nano_usd: 7 } }]);
  });

  test('a copy, and a gateway that was forgotten or left, is refused', async () => {
    const laptop = await member('laptop');
    await laptop.use({ hour: 1 });
    const { gatewayId: gateway = 0, token = '', nonce = '' } = readMembership(laptop.db) ?? {};
    await laptop.authority.hello({ gateway, token }, { old: nonce, next: 'of the copy' });
    await expect(laptop.push()).rejects.toThrow('fenced');
    await laptop.authority.hello({ gateway, token }, { old: 'of the copy', next: nonce });
    await team.su.query("UPDATE gateways SET state = 'forgotten'");
    await expect(laptop.push()).rejects.toThrow('forgotten');
    await laptop.authority.hello({ gateway, token }, { old: nonce, next: nonce });
    expect(await laptop.push()).toBe(true);
    expect(await laptop.push()).toBe(false);
  });

  describe('gw usage --team', () => {
    const usage = ['usage', '--team'];

    test('shows sums of all gateways by one thing, over days of the team', async () => {
      const [laptop, ci] = [await member('laptop'), await member('ci', 'bob')];
      for (const each of [laptop, ci]) {
        await each.use({ hour: 1, costNanoUsd: 2e9 });
        await each.use({ hour: 26, costNanoUsd: 1e9, model: 'big' });
        await each.pushAll();
        each.cli.clock.advance(26 * HOUR_MS);
      }
      const { cli } = laptop;
      cli.env.GW_TEAM_URL = team.url('boss');
      const days = await cli.json<TeamUsageView>([...usage, '--from', '7d']);
      expect(days).toMatchObject({ object: 'team_usage', team: 'acme', scope: 'team', timezone: 'UTC' });
      expect(days.data.map(({ cost_usd }) => cost_usd)).toEqual([4, 2]);
      expect(days.total).toMatchObject({ requests: 4, cost_usd: 6, cost_nano_usd: 6e9 });
      const last = String(days.data[1]?.day);
      expect((await cli.json<TeamUsageView>([...usage, '--from', last, '--to', last])).total.cost_usd).toBe(
        2,
      );
      const by = async (groupBy: string) =>
        (await cli.json<TeamUsageView>([...usage, '-g', groupBy])).data.map(({ cost_usd, ...row }) => [
          row.model ?? row.project_id ?? row.gateway ?? row.key ?? row.member,
          row.member,
          cost_usd,
        ]);
      expect(await by('model')).toEqual([
        ['openai/m', undefined, 4],
        ['openai/big', undefined, 2],
      ]);
      expect(await by('project')).toEqual([['default', undefined, 6]]);
      expect(await by('member')).toEqual([
        ['ann', 'ann', 3],
        ['bob', 'bob', 3],
      ]);
      expect(await by('gateway')).toEqual([
        ['ci', 'bob', 3],
        ['laptop', 'ann', 3],
      ]);
      expect(await by('key')).toEqual([
        ['unknown', 'ann', 3],
        ['unknown', 'bob', 3],
      ]);
      const table = await cli.run([...usage, '-g', 'key']);
      expect(table.stdout).toContain('Usage by key and member');
      expect(table.stdout).toMatch(/team acme[\s\S]*unknown +bob +2 [\s\S]*\$3\.00[\s\S]*total .*\$6\.00/);
      expect((await cli.run([...usage, '-g', 'member', '--csv'])).stdout).toMatch(
        /^member,requests,.*\nann,2,.*\nbob,2,/,
      );
      delete cli.env.GW_TEAM_URL;
      const own = await cli.run([...usage, '-g', 'member']);
      expect(own).toMatchObject({ code: 0, stderr: expect.stringContaining('GW_TEAM_URL=') });
      expect(own.stdout).not.toContain('bob');
    });

    test.each([
      [['-g', 'agent'], '--group-by agent does not go with --team: use project, model'],
      [['-g', 'key,model'], '--group-by key,model does not go with --team'],
      [['-m', 'gpt-4'], '--model does not go with --team'],
      [['--source', 'all'], '--source does not go with --team'],
      [['--month', '2026-13'], 'is not a month'],
    ])('%j: refused', async (options, says) => {
      expect(await cliHome().run([...usage, ...options])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(says),
      });
    });

    test('says that there is no team, and that --group-by member is for one', async () => {
      const cli = cliHome();
      expect(await cli.run(usage)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('gw team join URL'),
      });
      expect(await cli.run(['usage', '-g', 'member'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('gw usage --team -g member'),
      });
    });

    test('asks through the daemon too, for admin keys; says when PostgreSQL is away', async () => {
      const cli = cliHome({ timezone: 'UTC' });
      await prepareHome(cli.paths.home, { upstreamUrl: 'http://127.0.0.1:1' });
      expect((await cli.run(['team', 'join', team.url('ann'), '--name', 'laptop'])).code).toBe(0);
      const gateway = await startGateway({
        home: cli.paths.home,
        credentials: { mock: 'provider-key', [TEAM_URL]: team.url('ann') },
        price: { input: 0, output: 10 },
        settings: {},
      });
      await until(() => readMembership(gateway.db)?.syncedAt != null);
      expect((await gateway.post({ ...PLAIN, max_tokens: 100 })).status).toBe(200);
      await gateway.committed();
      const remote = commandLineOf(gateway, 'remotely', cli.clock);
      expect((await remote.json<TeamUsageView>(usage)).data).toEqual([]);
      const asProject = { authorization: `Bearer ${gateway.key}` };
      expect(await gateway.get('/v1/gw/team/usage', asProject)).toMatchObject({ status: 403 });
      await gateway.stop();
      const [sum] = (await boss().usage({ ...SPAN, groupBy: 'gateway' })).sums;
      expect(sum).toMatchObject({ key: 'laptop', figures: { requests: 1 } });
      const down = await startGateway({
        home: cli.paths.home,
        credentials: { mock: 'provider-key', [TEAM_URL]: 'postgres://ann@127.0.0.1:1/x' },
        mayLog: /can't sync/,
      });
      for (const how of ['locally', 'remotely'] as const)
        expect(await commandLineOf(down, how, cli.clock).run(usage)).toMatchObject({
          code: 3,
          stderr: expect.stringContaining("can't be reached"),
        });
    });
  });
});
test.runIf(missing)(`skipped: ${missing}`, () => {});
