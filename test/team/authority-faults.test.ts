import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LimitedAccount } from '../../src/store/team/limits.ts';
import { accountUpdates, messageRows } from '../../src/team/accounts.ts';
import type { TeamAuthority } from '../../src/team/authority.ts';
import { createDemand, SLICE_POLICY } from '../../src/team/policy.ts';
import { createPostgresAdmin } from '../../src/team/postgres/admin.ts';
import { createPostgresAuthority } from '../../src/team/postgres/authority.ts';
import type { Standing, SyncAnswer, SyncRow } from '../../src/team/protocol.ts';
import { connectTo, postgresMissing } from '../support/postgres.ts';
import { type Chance, chanceOf } from './history.ts';
import { breakFunction, DAY_MS, startTeam, type TeamServer } from './team-server.ts';

const HISTORIES = process.env.GW_LONG ? 150 : 1;
const missing = postgresMissing({ ownServer: true });
if (missing) console.warn(missing);

/** A day on which all histories begin, so that a jump of the clock ends the period. */
const START = 20_000 * DAY_MS;

class Violation extends Error {}

describe.skipIf(missing)('gateways and a PostgreSQL that is killed', () => {
  test(`histories (${HISTORIES}) pass no cap, and all books agree at the end`, {
    timeout: 3_600_000,
  }, async () => {
    const team = await startTeam({ fsync: 'on' });
    try {
      for (let seed = 1; seed <= HISTORIES; seed++) {
        expect([seed, await faults(team, seed)]).toEqual([seed, undefined]);
      }
    } finally {
      await team.end();
    }
  });

  test('a sync that does not lock the row of the period is caught', { timeout: 600_000 }, async () => {
    const team = await startTeam();
    try {
      await breakFunction(team.su, 'sync', 'AND start = r.p FOR UPDATE;', 'AND start = r.p;');
      expect(await firstViolation(team, { kills: false })).toBeDefined();
    } finally {
      await team.end();
    }
  });

  test('a grant that a crash can lose is caught', { timeout: 600_000 }, async () => {
    const team = await startTeam({ synchronous_commit: 'off', wal_writer_delay: '10s' });
    try {
      const { rows } = await team.su.query<{ body: string }>(
        "SELECT pg_get_functiondef('commit_durably'::regproc) AS body",
      );
      const body = rows[0]?.body ?? '';
      await team.su.query(body.replace(/IF current_setting[\s\S]*END IF;/, ''));
      await team.su.query('CHECKPOINT');
      expect(await grantsLost(team, 'lost')).toBe(true);
      await team.su.query(body);
      await team.su.query('SET synchronous_commit = on; UPDATE team SET name = name');
      expect(await grantsLost(team, 'kept')).toBe(false);
    } finally {
      await team.end();
    }
  });

  test('a promoted standby freezes grants until an admin recovers the team', {
    timeout: 60_000,
  }, async () => {
    const team = await startTeam();
    const admin = createPostgresAdmin(team.url('boss'));
    const budget = await admin.setBudget({ project: '', period: 'daily', capNanoUsd: 1_000 });
    const ann = createPostgresAuthority(team.url('ann'));
    const gateway = await ann.join({ name: 'a', token: 't', nonce: 'n' });
    const sync = async (seq: number, row: Partial<SyncRow>, nonce = 'n') =>
      (await ann.sync('t', {
        gateway,
        nonce,
        seq,
        rows: [{ b: budget.id, p: budget.start, d: 0, s: 0, n: 0, w: 0, ...row }],
      })) as SyncAnswer;
    try {
      const before = await sync(1, { n: 100 });
      await team.su.end();
      await team.server.stop();
      await expect(sync(2, {})).rejects.toMatchObject({ code: 'team_unreachable', status: 503 });
      writeFileSync(join(team.server.dir, 'standby.signal'), '');
      await team.server.start();
      await expect(sync(3, {})).rejects.toThrow('read-only standby');
      const su = await connectTo(team.server.url());
      await su.query('SELECT pg_promote()');
      // As if the last grant had been lost.
      const after = await sync(4, { d: 150, s: 60, n: 100 });
      expect(after).toMatchObject({ frozen: true, rows: [{ l: 150 }] });
      expect(after.incarnation).not.toBe(before.incarnation);
      expect(await ann.hello({ gateway, token: 't' }, { old: 'lost', next: 'n2' })).toBe('ok');
      await admin.recover();
      expect(await sync(1, { d: 150, s: 60, n: 100 }, 'n2')).toMatchObject({
        frozen: false,
        rows: [{ l: 250 }],
      });
      await su.end();
    } finally {
      await ann.close();
      await admin.close();
      await team.server.remove();
    }
  });
});

/** Whether a kill of the server loses an answered grant. */
async function grantsLost(team: TeamServer, token: string): Promise<boolean> {
  const admin = createPostgresAdmin(team.url('boss'));
  const budget = await admin.setBudget({ project: '', period: 'daily', capNanoUsd: 1_000 });
  const ann = createPostgresAuthority(team.url('ann'));
  const id = await ann.join({ name: 'b', token, nonce: 'n' });
  await ann.sync(token, {
    gateway: id,
    nonce: 'n',
    seq: 1,
    rows: [{ b: budget.id, p: budget.start, d: 0, s: 0, n: 100, w: 0 }],
  });
  await team.server.kill();
  await team.server.start();
  await ann.close();
  await admin.close();
  team.su = await connectTo(team.server.url());
  await team.su.query('SET search_path = gw_team');
  const { rows } = await team.su.query<{ granted: number }>(
    'SELECT coalesce(sum(limit_), 0)::bigint AS granted FROM allowances WHERE gateway_id = $1',
    [id],
  );
  return rows[0]?.granted !== 100;
}

async function firstViolation(team: TeamServer, options: { kills: boolean }): Promise<string | undefined> {
  for (let seed = 1; seed <= 40; seed++) {
    const violation = await faults(team, seed, options);
    if (violation) return violation;
  }
  return undefined;
}

interface Node {
  id: number;
  token: string;
  nonce: string;
  nextNonce: string | undefined;
  accounts: Map<string, LimitedAccount>;
  holds: { accounts: LimitedAccount[]; amount: number; cost: number }[];
  standings: Map<number, Standing>;
  seq: number;
  /** Of the daemon: answers to an older one are nobody's. */
  life: number;
  isUp: boolean;
}

/** One random history; what it violated, if anything. */
async function faults(team: TeamServer, seed: number, { kills = true } = {}): Promise<string | undefined> {
  const world = new World(team, seed, kills);
  try {
    await world.run();
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error.message;
    throw error;
  }
}

class World {
  readonly #team: TeamServer;
  readonly #chance: Chance;
  readonly #kills: boolean;
  readonly #authorities: TeamAuthority[];
  #budgets: { id: number; cap: number; start: number }[] = [];
  #nodes: Node[] = [];
  #now = START;
  #nonces = 0;
  #messages = 0;
  #isOver = false;
  readonly #truth = new Map<string, number>();

  constructor(team: TeamServer, seed: number, kills: boolean) {
    this.#team = team;
    this.#chance = chanceOf(seed);
    this.#kills = kills;
    this.#authorities = Array.from({ length: 12 }, () => createPostgresAuthority(team.url('ann')));
  }

  async run(): Promise<void> {
    await this.#setUp();
    const ended: unknown[] = [];
    const lives = this.#nodes.map((node) =>
      this.#live(node).catch((error) => {
        ended.push(error);
        this.#isOver = true;
      }),
    );
    await this.#chaos();
    this.#isOver = true;
    await Promise.all(lives);
    try {
      if (ended.length > 0) throw ended[0];
      await this.#end();
    } finally {
      await Promise.all(this.#authorities.map((authority) => authority.close()));
    }
  }

  async #setUp(): Promise<void> {
    const { su } = this.#team;
    await this.#team.reset();
    await this.#team.setClock(START);
    await su.query('UPDATE team SET min_slice = $1', [1 + this.#chance.int(20)]);
    for (let i = 0; i <= this.#chance.int(2); i++) {
      const cap = 300 + this.#chance.int(1_500);
      const { rows } = await su.query<{ id: number }>("SELECT set_budget($1, 'daily', $2) AS id", [
        i === 0 ? '' : 'x',
        cap,
      ]);
      this.#budgets.push({ id: rows[0]?.id ?? 0, cap, start: START });
    }
    for (let i = 1; i <= 6; i++) {
      const token = `t${i}`;
      const nonce = `n${++this.#nonces}`;
      const id = await this.#authority().join({ name: `g${i}`, token, nonce });
      this.#nodes.push({
        id,
        token,
        nonce,
        nextNonce: undefined,
        accounts: new Map(),
        holds: [],
        standings: new Map(),
        seq: 0,
        life: 0,
        isUp: true,
      });
    }
  }

  #authority() {
    return this.#chance.pick(this.#authorities);
  }

  async #live(node: Node): Promise<void> {
    while (!this.#isOver) {
      const x = this.#chance.int(100);
      if (x < 45) await this.#request(node);
      else if (x < 75) this.#settle(node);
      else if (x < 95) await this.#exchange(node, 0);
      else if (x < 97) await this.#crash(node);
      await turn();
    }
  }

  async #chaos(): Promise<void> {
    await this.#busy(250);
    if (this.#kills) {
      await this.#team.server.kill();
      await this.#team.server.start();
      this.#team.su = await connectTo(this.#team.server.url());
      await this.#team.su.query('SET search_path = gw_team');
      await this.#busy(150);
    }
    if (this.#chance.chance(0.5)) {
      this.#now += DAY_MS;
      await this.#team.setClock(this.#now);
      await this.#busy(100);
    }
    if (this.#chance.chance(0.5)) await this.#team.su.query('SELECT forget($1)', [this.#nodes[0]?.id]);
    await this.#busy(150);
  }

  /** Lets the gateways send about so many messages. */
  async #busy(messages: number): Promise<void> {
    const until = this.#messages + messages;
    while (this.#messages < until && !this.#isOver) await turn();
  }

  #account(node: Node, { id }: { id: number }): LimitedAccount {
    const start = node.standings.get(id)?.running ?? START;
    const key = `${id} ${start}`;
    const known = node.accounts.get(key);
    if (known) return known;
    const account = { budgetId: id, start, limit: 0, posted: 0, pending: 0 };
    node.accounts.set(key, account);
    return account;
  }

  async #request(node: Node): Promise<void> {
    const amount = 1 + this.#chance.int(40);
    const accounts = this.#budgets.map((budget) => this.#account(node, budget));
    if (accounts.some(({ limit, posted, pending }) => limit - posted - pending < amount)) {
      await this.#exchange(node, amount);
      return;
    }
    for (const account of accounts) account.pending += amount;
    node.holds.push({ accounts, amount, cost: this.#chance.int(amount + 1) });
    this.#check('admit');
  }

  #settle(node: Node, isCrash = false): void {
    const hold = node.holds.shift();
    if (!hold) return;
    for (const account of hold.accounts) {
      account.pending -= hold.amount;
      account.posted += isCrash ? hold.amount : hold.cost;
      const key = `${account.budgetId} ${account.start}`;
      this.#truth.set(key, (this.#truth.get(key) ?? 0) + hold.cost);
    }
  }

  /** The daemon ends at any point; its disk stays. The next one says hello, which may be lost too. */
  async #crash(node: Node): Promise<void> {
    node.life++;
    while (node.holds.length > 0) this.#settle(node, true);
    await this.#hello(node);
  }

  async #hello(node: Node): Promise<void> {
    node.nextNonce ??= `n${++this.#nonces}`;
    for (;;) {
      try {
        const answer = await this.#authority().hello(
          { gateway: node.id, token: node.token },
          { old: node.nonce, next: node.nextNonce },
        );
        if (answer !== 'ok') throw new Violation(`hello: ${answer}`);
        if (!this.#chance.chance(0.2)) break;
      } catch (error) {
        if (error instanceof Violation) throw error;
        await turn();
      }
    }
    node.nonce = node.nextNonce;
    node.nextNonce = undefined;
    node.seq = 0;
    node.standings = new Map();
    for (const account of node.accounts.values()) account.heard = undefined;
  }

  async #exchange(node: Node, need: number, isLeaving = false): Promise<void> {
    const running = new Map(this.#budgets.map((budget) => [budget.id, this.#account(node, budget).start]));
    const demand = createDemand();
    demand.asked(20, this.#now);
    const accounts = [...node.accounts.values()];
    const rows = messageRows({
      accounts,
      running,
      standings: node.standings,
      demand,
      policy: SLICE_POLICY,
      need,
      nowMs: this.#now,
      isLeaving,
    });
    for (const { b, p, d } of rows) {
      const account = node.accounts.get(`${b} ${p}`) as LimitedAccount;
      account.limit = d;
      account.heard = undefined;
    }
    const { life } = node;
    this.#messages++;
    const message = { gateway: node.id, nonce: node.nonce, seq: ++node.seq, rows };
    const send = () => this.#authority().sync(node.token, message);
    if (!isLeaving && this.#chance.chance(0.1)) send().catch(() => {});
    const sent = send();
    // It gives up on the answer: the message may still arrive.
    if (!isLeaving && this.#chance.chance(0.08)) {
      sent.catch(() => {});
      return;
    }
    const answer = await sent.catch(() => undefined);
    if (!answer || node.life !== life || (!isLeaving && this.#chance.chance(0.05))) return;
    if ('error' in answer) {
      if (answer.error === 'forgotten') await this.#hello(node);
      return;
    }
    if (answer.seq !== node.seq) return;
    for (const { budgetId, start, limit, heard } of accountUpdates(rows, answer)) {
      const account = node.accounts.get(`${budgetId} ${start}`) as LimitedAccount;
      account.limit = limit;
      account.heard = heard;
    }
    for (const row of answer.rows)
      if (row.running >= (node.standings.get(row.b)?.running ?? 0)) node.standings.set(row.b, row);
    this.#check('receive');
  }

  /** What gateways may spend, and what was billed, is within each cap. */
  #check(where: string): void {
    const limits = new Map<string, number>();
    for (const { accounts } of this.#nodes) {
      for (const [key, { limit, posted, pending }] of accounts) {
        limits.set(key, (limits.get(key) ?? 0) + Math.max(limit, posted + pending));
      }
    }
    for (const { id, cap } of this.#budgets) {
      for (const [key, amount] of [...limits, ...this.#truth]) {
        if (key.startsWith(`${id} `) && amount > cap)
          throw new Violation(`${where}: ${key}: ${amount} of ${cap}`);
      }
    }
  }

  /** All come back, settle, and return everything in the next period. */
  async #end(): Promise<void> {
    this.#now += DAY_MS;
    await this.#team.setClock(this.#now);
    for (const node of this.#nodes) {
      while (node.holds.length > 0) this.#settle(node);
      await this.#hello(node);
    }
    for (let round = 0; round < 3; round++) {
      for (const node of this.#nodes) await this.#exchange(node, 0, true);
    }
    const { rows } = await this.#team.su.query<{
      key: string;
      allocated: number;
      spent: number;
      sum: number;
    }>(
      `SELECT p.budget_id || ' ' || p.start AS key, allocated, spent, (SELECT coalesce(sum(limit_), 0)::bigint
       FROM allowances a WHERE a.budget_id = p.budget_id AND a.start = p.start) AS sum FROM periods p`,
    );
    for (const { key, allocated, spent, sum } of rows) {
      const posted = this.#nodes.reduce((total, { accounts }) => total + (accounts.get(key)?.posted ?? 0), 0);
      if (
        spent !== posted ||
        allocated !== posted ||
        sum !== posted ||
        (this.#truth.get(key) ?? 0) > posted
      ) {
        throw new Violation(`the end: ${key}: posted ${posted}, authority ${allocated}, ${spent}, ${sum}`);
      }
    }
  }
}

/** Lets the sockets have a turn. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
