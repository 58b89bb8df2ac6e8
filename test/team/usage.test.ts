import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { createArchive } from '../../src/store/archive/archive.ts';
import type { Db } from '../../src/store/database/open.ts';
import { inTransaction } from '../../src/store/database/write.ts';
import { usageReport } from '../../src/store/reports/usage-report.ts';
import { readMembership } from '../../src/store/team/membership.ts';
import type { TeamUsageBatch } from '../../src/store/team/usage.ts';
import type { TeamAuthority, TeamGrouping } from '../../src/team/authority.ts';
import { createPostgresAuthority } from '../../src/team/postgres/authority.ts';
import { pushUsageOnce } from '../../src/team/usage-push.ts';
import { type CliHome, cliHome } from '../cli/cli-home.ts';
import { postgresMissing } from '../support/postgres.ts';
import { seededRandom } from '../support/random.ts';
import { breakFunction, startTeam, type TeamServer } from './team-server.ts';

const RUNS = process.env.GW_LONG ? 200 : 2;
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
  afterAll(() => team?.end());
  beforeEach(() => team.reset());

  async function member(name: string, user = 'ann'): Promise<Member> {
    const cli = cliHome({ timezone: 'UTC' });
    expect(await cli.run(['team', 'join', team.url(user), '--name', name])).toMatchObject({ code: 0 });
    const db = await cli.open();
    const authority = createPostgresAuthority(team.url(user));
    onTestFinished(() => authority.close());
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

  const boss = () => {
    const authority = createPostgresAuthority(team.url('boss'));
    onTestFinished(() => authority.close());
    return authority;
  };
  const SPAN = { from: '2000-01-01', to: '2100-01-01' };

  /** Requests and costs by one thing, of the team and of the members' own databases. */
  async function compare(members: Member[], groupBy: TeamGrouping & ('day' | 'model' | 'project' | 'key')) {
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
    for (let step = 0; step < 14; step++) {
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

  test('sums are those of the local databases, whatever is lost, repeated, late or dies', async () => {
    for (let seed = 1; seed <= RUNS; seed++)
      expect({ seed, equal: await play(seed) }).toEqual({ seed, equal: true });
  });

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

  test('catches up after a time offline, a bounded message at a time', async () => {
    const laptop = await member('laptop');
    for (let hour = 1; hour <= 50; hour++) await laptop.use({ hour, costNanoUsd: hour });
    await laptop.pushAll();
    expect(laptop.sent.map(({ buckets }) => buckets.length)).toEqual([24, 24, expect.any(Number)]);
    const { ours, theirs } = await compare([laptop], 'day');
    expect(ours).toEqual(theirs);
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
});
test.runIf(missing)(`skipped: ${missing}`, () => {});
