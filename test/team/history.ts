import type { LimitedAccount } from '../../src/store/team/limits.ts';
import { accountUpdates, messageRows } from '../../src/team/accounts.ts';
import { createDemand, type Demand, SLICE_POLICY } from '../../src/team/policy.ts';
import type { Standing, SyncAnswer, SyncMessage, SyncRefusal, SyncRow } from '../../src/team/protocol.ts';
import { AuthorityModel, type AuthorityState, type ModelBudget, startOf } from './authority-model.ts';

/** Breaks a rule of the protocol on purpose. */
export const BROKEN = [
  'applies late answers',
  'ignores sequence numbers',
  'lowers a limit after the answer',
  'frees the money of silent gateways',
  'believes dead daemons',
  'grants after a failover',
] as const;
export type Broken = (typeof BROKEN)[number];

export interface Chance {
  /** From 0 to below `n`. */
  int(n: number): number;
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    int: (n) => Math.floor(next() * n),
    chance: (share) => next() < share,
    pick: (list) => list[Math.floor(next() * list.length)] as (typeof list)[number],
  };
}

class Violation extends Error {}

interface Hold {
  accounts: LimitedAccount[];
  amount: number;
  cost: number;
  isCharged: boolean;
}

/** A gateway: what is on its disk survives a crash. */
interface Node {
  id: number;
  disk: {
    nonce: string;
    nextNonce?: string | undefined;
    accounts: Map<string, LimitedAccount>;
    holds: Set<Hold>;
  };
  demand: Demand;
  standings: Map<number, Standing>;
  sent: SyncRow[];
  seq: number;
  offset: number;
  latest: number;
  skew: number;
  isUp: boolean;
  isCut: boolean;
  /** It has to say hello before it may sync. */
  isNew: boolean;
}

type Packet =
  | { node: Node; message: SyncMessage }
  | { node: Node; answer: SyncAnswer | SyncRefusal; nonce: string };

const keyOf = ({ budgetId, start }: Pick<LimitedAccount, 'budgetId' | 'start'>) => `${budgetId} ${start}`;

/**
 * A random history of gateways, an authority, and a network that loses, repeats and reorders; daemons crash, clocks jump,
 * caps change, servers fail over. After each step somebody who knows everything checks that no cap is passed. Returns
 * what was violated, if anything.
 */
export function history(
  seed: number,
  broken?: Broken,
  steps = 300,
): { violation?: string; requests: number } {
  const world = new World(seed, broken);
  try {
    for (let i = 0; i < steps; i++) world.step(i);
    world.end();
  } catch (error) {
    if (error instanceof Violation) return { violation: error.message, requests: world.requests };
    throw error;
  }
  return { requests: world.requests };
}

class World {
  readonly #chance: Chance;
  readonly #broken: Broken | undefined;
  readonly #budgets: ModelBudget[];
  readonly #authority: AuthorityModel;
  readonly #nodes: Node[] = [];
  readonly #truth = new Map<string, number>();
  readonly #highestCap = new Map<string, number>();
  readonly #hasFailovers: boolean;
  #network: Packet[] = [];
  #snapshot: AuthorityState | undefined;
  #now: number;
  #nonces = 0;
  requests = 0;

  constructor(seed: number, broken: Broken | undefined) {
    const chance = chanceOf(seed);
    this.#chance = chance;
    this.#broken = broken;
    this.#budgets = [
      { id: 1, everyMs: 600_000, cap: 1_000 + chance.int(4_000) },
      { id: 2, everyMs: 150_000, cap: 300 + chance.int(2_000) },
    ].slice(0, 1 + chance.int(2));
    this.#authority = new AuthorityModel(this.#budgets, {
      minSlice: 1 + chance.int(100),
      divisor: 1 + chance.int(3),
    });
    this.#now = 600_000_000 + chance.int(600_000);
    this.#hasFailovers = broken === 'grants after a failover' || chance.chance(0.3);
    for (let id = 1; id <= 2 + chance.int(5); id++) {
      const nonce = this.#nonce();
      this.#authority.join(id, nonce);
      const disk = { nonce, accounts: new Map(), holds: new Set<Hold>() };
      const skew = chance.int(20_000) - 10_000;
      this.#nodes.push({ ...this.#daemon(), id, disk, skew, isUp: true, isCut: false, isNew: false });
    }
  }

  step(i: number): void {
    const act = this.#chance.pick(DECK);
    this[act]();
    this.#check(`step ${i} (${act})`);
  }

  /** Everybody comes back, settles and reports: then all books agree to the last unit. */
  end(): void {
    for (const node of this.#nodes) {
      node.isCut = false;
      this.#greet(node);
      for (const hold of [...node.disk.holds]) this.#settle(node, hold);
    }
    this.#now += 700_000;
    for (let round = 0; round < 3; round++) {
      for (const node of this.#nodes) {
        if (this.#authority.gateway(node.id).state !== 'active') node.isNew = true;
        this.#greet(node);
        this.#exchange(node);
        this.#check('the end');
      }
    }
    for (const [key, period] of this.#authority.state.periods) {
      const posted = this.#sum(key, ({ posted }) => posted);
      if (period.spent !== posted)
        throw new Violation(`the end: ${key}: ${period.spent} reported, ${posted} posted`);
      if (period.allocated !== posted)
        throw new Violation(`the end: ${key}: ${period.allocated} still granted, ${posted} posted`);
      const truth = this.#truth.get(key) ?? 0;
      if (truth > posted) throw new Violation(`the end: ${key}: ${truth} billed, ${posted} posted`);
    }
  }

  request(): void {
    const node = this.#chance.pick(this.#nodes);
    if (!node.isUp || node.isNew) return;
    this.requests++;
    const amount = 1 + this.#chance.int(this.#chance.chance(0.1) ? 500 : 60);
    node.demand.asked(amount, this.#local(node));
    const accounts = this.#budgets.map((budget) => this.#account(node, budget));
    if (accounts.some(({ limit, posted, pending }) => limit - posted - pending < amount)) {
      if (this.#chance.chance(0.7)) this.#send(node, amount);
      return;
    }
    for (const account of accounts) account.pending += amount;
    node.disk.holds.add({ accounts, amount, cost: this.#chance.int(amount + 1), isCharged: false });
  }

  settle(): void {
    const node = this.#chance.pick(this.#nodes);
    if (node.isUp && node.disk.holds.size > 0) this.#settle(node, this.#chance.pick([...node.disk.holds]));
  }

  /** The provider bills before gw hears of it. */
  charge(): void {
    const { disk } = this.#chance.pick(this.#nodes);
    if (disk.holds.size > 0) this.#charge(this.#chance.pick([...disk.holds]));
  }

  sync(): void {
    const node = this.#chance.pick(this.#nodes);
    if (node.isUp && !node.isNew) this.#send(node, 0);
  }

  deliver(): void {
    const chance = this.#chance;
    if (this.#network.length === 0) return;
    const i = chance.int(this.#network.length);
    const packet = this.#network[i] as Packet;
    if (packet.node.isCut && chance.chance(0.95)) return;
    if (!chance.chance(0.08)) this.#network.splice(i, 1);
    if (chance.chance(0.06)) return;
    if ('message' in packet) this.#hear(packet);
    else this.#receive(packet);
  }

  hello(): void {
    const node = this.#chance.pick(this.#nodes);
    if (node.isUp && node.isNew && !node.isCut) this.#hello(node);
  }

  crash(): void {
    if (this.#chance.chance(0.5)) this.#chance.pick(this.#nodes).isUp = false;
  }

  restart(): void {
    const node = this.#chance.pick(this.#nodes);
    if (!node.isUp) this.#boot(node);
  }

  time(): void {
    this.#now += this.#chance.int(this.#chance.chance(0.05) ? 200_000 : 8_000);
  }

  jump(): void {
    if (this.#chance.chance(0.1)) this.#chance.pick(this.#nodes).skew += this.#chance.int(400_000) - 200_000;
  }

  cut(): void {
    const node = this.#chance.pick(this.#nodes);
    if (this.#chance.chance(0.3)) node.isCut = !node.isCut;
  }

  /** What was granted under an old cap may still be spent: the bound is the highest cap of the period. */
  changeCap(): void {
    if (!this.#chance.chance(0.1)) return;
    const budget = this.#chance.pick(this.#budgets);
    for (const key of this.#keys())
      if (key.startsWith(`${budget.id} `)) this.#highestCap.set(key, this.#capOf(key));
    budget.cap = 200 + this.#chance.int(4_000);
  }

  forget(): void {
    if (this.#chance.chance(0.1)) this.#authority.forget(this.#chance.pick(this.#nodes).id);
  }

  freeSilent(): void {
    if (this.#broken !== 'frees the money of silent gateways') return;
    for (const period of this.#authority.state.periods.values()) {
      for (const allowance of period.allowances.values()) {
        if (allowance.syncedAt >= this.#now - 30_000) continue;
        period.allocated -= allowance.limit - allowance.spent;
        allowance.limit = allowance.spent;
      }
    }
  }

  snapshot(): void {
    if (this.#hasFailovers && this.#chance.chance(0.3))
      this.#snapshot = structuredClone(this.#authority.state);
  }

  failOver(): void {
    const snapshot = this.#snapshot;
    if (!snapshot || !this.#chance.chance(0.2)) return;
    this.#authority.state = snapshot;
    this.#snapshot = undefined;
    this.#network = this.#network.filter((packet) => !('message' in packet));
    if (this.#broken === 'grants after a failover') return;
    this.#authority.isFrozen = true;
    for (const node of this.#nodes) {
      node.isCut = false;
      node.isNew = true;
      this.#greet(node);
      for (const account of node.disk.accounts.values()) account.heard = undefined;
      this.#exchange(node);
    }
    this.#authority.isFrozen = false;
    this.#network = [];
  }

  #settle(node: Node, hold: Hold): void {
    this.#charge(hold);
    node.disk.holds.delete(hold);
    for (const account of hold.accounts) {
      account.pending -= hold.amount;
      account.posted += hold.cost;
    }
    node.demand.spent(hold.cost, this.#local(node));
  }

  #charge(hold: Hold): void {
    if (hold.isCharged) return;
    hold.isCharged = true;
    for (const account of hold.accounts) {
      const key = keyOf(account);
      this.#truth.set(key, (this.#truth.get(key) ?? 0) + hold.cost);
    }
  }

  #account(node: Node, budget: ModelBudget): LimitedAccount {
    const start = startOf(budget, this.#teamNow(node));
    const key = keyOf({ budgetId: budget.id, start });
    const known = node.disk.accounts.get(key);
    if (known) return known;
    const account: LimitedAccount = { budgetId: budget.id, start, limit: 0, posted: 0, pending: 0 };
    node.disk.accounts.set(key, account);
    return account;
  }

  #message(node: Node, need: number): SyncMessage {
    const running = new Map(this.#budgets.map((budget) => [budget.id, this.#account(node, budget).start]));
    const { demand, standings } = node;
    const accounts = [...node.disk.accounts.values()];
    const nowMs = this.#local(node);
    const policy = { ...SLICE_POLICY, idleMs: 20_000 };
    const rows = messageRows({ accounts, running, standings, demand, policy, need, nowMs });
    for (const { b, p, d } of rows) {
      const account = node.disk.accounts.get(`${b} ${p}`);
      if (!account) continue;
      if (this.#broken !== 'lowers a limit after the answer') account.limit = d;
      account.heard = undefined;
    }
    node.sent = rows;
    return { gateway: node.id, nonce: node.disk.nonce, seq: ++node.seq, rows };
  }

  #send(node: Node, need: number): void {
    this.#network.push({ node, message: this.#message(node, need) });
  }

  #hear({ node, message }: { node: Node; message: SyncMessage }): void {
    const gateway = this.#authority.gateway(node.id);
    if (this.#broken === 'ignores sequence numbers') gateway.seq = -1;
    if (this.#broken === 'believes dead daemons') gateway.nonce = message.nonce;
    const answer = this.#authority.sync(message, this.#now);
    const isOwn = node.isUp && message.nonce === node.disk.nonce;
    if ('error' in answer && answer.error === 'forgotten' && isOwn) node.isNew = true;
    if (!this.#chance.chance(0.06)) this.#network.push({ node, answer, nonce: message.nonce });
  }

  #receive({ node, answer, nonce }: { node: Node; answer: SyncAnswer | SyncRefusal; nonce: string }): void {
    const isOwn = nonce === node.disk.nonce || this.#broken === 'believes dead daemons';
    if (!node.isUp || !isOwn || 'error' in answer) return;
    if (answer.seq !== node.seq && this.#broken !== 'applies late answers') return;
    this.#apply(node, answer);
  }

  #apply(node: Node, answer: SyncAnswer): void {
    node.offset = answer.now - this.#local(node);
    node.latest = answer.now;
    for (const { budgetId, start, limit, heard } of accountUpdates(node.sent, answer)) {
      const account = node.disk.accounts.get(keyOf({ budgetId, start }));
      if (account) Object.assign(account, { limit, heard });
    }
    for (const row of answer.rows) if (row.p === row.running) node.standings.set(row.b, row);
  }

  /** A message and its answer, with nothing in between. */
  #exchange(node: Node): void {
    const answer = this.#authority.sync(this.#message(node, 0), this.#now);
    if (!('error' in answer)) this.#apply(node, answer);
  }

  /** Open holds are posted as held: what they cost is not known, and the provider may still bill them. */
  #boot(node: Node): void {
    Object.assign(node, this.#daemon(), { isUp: true });
    for (const hold of node.disk.holds) {
      this.#charge(hold);
      for (const account of hold.accounts) {
        account.pending -= hold.amount;
        account.posted += hold.amount;
      }
    }
    node.disk.holds.clear();
    node.disk.nextNonce ??= this.#nonce();
    if (this.#broken === 'believes dead daemons') {
      node.disk.nonce = node.disk.nextNonce;
      node.disk.nextNonce = undefined;
    } else node.isNew = true;
  }

  #greet(node: Node): void {
    while (!node.isUp || node.isNew) {
      if (!node.isUp) this.#boot(node);
      else this.#hello(node);
    }
  }

  #hello(node: Node): void {
    const { disk } = node;
    disk.nextNonce ??= this.#nonce();
    const answer = this.#authority.hello(node.id, disk.nonce, disk.nextNonce);
    if (answer !== 'ok') throw new Violation(`gateway ${node.id} says hello: ${answer}`);
    // It dies after the authority's commit and before its own.
    if (this.#chance.chance(0.2) && !this.#authority.isFrozen) {
      node.isUp = false;
      return;
    }
    disk.nonce = disk.nextNonce;
    disk.nextNonce = undefined;
    node.seq = 0;
    node.isNew = false;
  }

  #check(where: string): void {
    for (const node of this.#nodes) {
      for (const { limit, posted, pending, ...account } of node.disk.accounts.values()) {
        if (posted + pending > limit)
          throw new Violation(`${where}: gateway ${node.id} is past its limit in ${keyOf(account)}`);
      }
    }
    for (const key of this.#keys()) {
      const cap = this.#capOf(key);
      const used = this.#sum(key, ({ posted, pending }) => posted + pending);
      if (used > cap) throw new Violation(`${where}: ${key}: ${used} spent and held of ${cap}`);
      const truth = this.#truth.get(key) ?? 0;
      if (truth > cap) throw new Violation(`${where}: ${key}: ${truth} billed of ${cap}`);
    }
    if (this.#authority.isFrozen) return;
    for (const [key, { allocated, allowances }] of this.#authority.state.periods) {
      const out = this.#sum(key, ({ limit }) => limit);
      if (out > allocated) throw new Violation(`${where}: ${key}: limits of ${out}, ${allocated} granted`);
      const sum = [...allowances.values()].reduce((total, { limit }) => total + limit, 0);
      if (sum !== allocated)
        throw new Violation(`${where}: ${key}: ${allocated} granted, allowances of ${sum}`);
    }
  }

  #keys(): Set<string> {
    return new Set([
      ...this.#authority.state.periods.keys(),
      ...this.#truth.keys(),
      ...this.#nodes.flatMap(({ disk }) => [...disk.accounts.keys()]),
    ]);
  }

  #sum(key: string, value: (account: LimitedAccount) => number): number {
    return this.#nodes.reduce((total, { disk }) => {
      const account = disk.accounts.get(key);
      return total + (account ? value(account) : 0);
    }, 0);
  }

  #capOf(key: string): number {
    const cap = this.#authority.budgets.get(Number(key.split(' ')[0]))?.cap ?? 0;
    return Math.max(this.#highestCap.get(key) ?? 0, cap);
  }

  #daemon() {
    return {
      demand: createDemand(),
      standings: new Map(),
      sent: [],
      seq: 0,
      offset: 0,
      latest: 0,
      isNew: false,
    };
  }

  #nonce(): string {
    return `n${++this.#nonces}`;
  }

  #local(node: Node): number {
    return this.#now + node.skew;
  }

  #teamNow(node: Node): number {
    node.latest = Math.max(node.latest, this.#local(node) + node.offset);
    return node.latest;
  }
}

const WEIGHTS = {
  request: 30,
  settle: 20,
  charge: 5,
  sync: 12,
  deliver: 45,
  hello: 4,
  crash: 2,
  restart: 4,
  time: 12,
  jump: 1,
  cut: 2,
  changeCap: 1,
  forget: 1,
  freeSilent: 2,
  snapshot: 2,
  failOver: 1,
} as const;
const DECK = Object.entries(WEIGHTS).flatMap(([act, weight]) =>
  Array.from({ length: weight }, () => act as keyof typeof WEIGHTS),
);
