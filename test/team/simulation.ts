import { accountUpdates } from '../../src/team/accounts.ts';
import { createDemands, type Demands } from '../../src/team/demands.ts';
import { createPace } from '../../src/team/policy.ts';
import type { Standing, SyncAnswer, SyncRow } from '../../src/team/protocol.ts';
import { composeMessage } from '../../src/team/sync-books.ts';
import { createTeamClock } from '../../src/team/team-clock.ts';
import { AuthorityModel } from './authority-model.ts';
import { chanceOf } from './history.ts';

export interface SimulationOptions {
  gateways: number;
  capUsd: number;
  seed?: number;
  /** One ledger for all, without any delay: what no team can surpass. */
  isCentral?: boolean;
  /** Median of what requests hold, USD. They cost $0.02 in the median and $0.04 in the mean. */
  holdUsd?: number;
}

export interface Figures {
  /** Percent of the cap that is spent when the first request is refused, and ten minutes later. */
  usedAtFirst: number;
  usedAtEnd: number;
  overNanoUsd: number;
  requests: number;
  refused: number;
  /** Refused although the cap, less all that is spent and held everywhere, had room. */
  falselyRefused: number;
  /** Syncs a second until 2 % of the cap are left, from there to the first refusal, and after it. */
  syncs: { before: number; tight: number; after: number; peak: number };
  /** Percent of the requests before the first refusal that waited for the authority, and the 99th percentile, ms. */
  waited: number;
  waitP99: number;
}

const BUDGET = 1;
const DAY_MS = 86_400_000;
/** `admission.max_wait_ms`. */
const MAX_WAIT_MS = 10_000;
/** How old a standing may be to refuse by it, as the ledger has it. */
const FRESH_MS = 5_000;
const AFTER_FIRST_MS = 600_000;
const RETRY_MS = 30_000;
const BURST_MS = 300_000;
const PAUSE_MS = 1_200_000;
const NANO = 1e9;

interface Request {
  node: Node;
  cost: number;
  amount: number;
  /** Its agent works until then. */
  until: number;
  since: number;
  isWaiting: boolean;
}

/** A gateway. Its limits are in memory, all else is what ships. */
interface Node {
  id: number;
  account: { limit: number; posted: number; pending: number; heard?: { limit: number; posted: number } };
  demands: Demands;
  pace: ReturnType<typeof createPace>;
  standings: Map<number, Standing>;
  heardAt: number;
  heardPosted: number;
  queue: Request[];
  isSyncing: boolean;
  lastAt: number;
  /** When the next sync is due, and the number of that plan: an older one is void. */
  dueAt: number;
  plan: number;
  seq: number;
}

/** Bursty agents on many gateways spend one cap, in simulated time. */
export function simulate(options: SimulationOptions): Figures {
  return new Simulation(options).run();
}

class Simulation {
  readonly #cap: number;
  readonly #isCentral: boolean;
  readonly #holdUsd: number;
  readonly #size: number;
  readonly #authority: AuthorityModel;
  readonly #next: () => number;
  readonly #events = new EventQueue();
  readonly #centralQueue: Request[] = [];
  readonly #syncsPerSecond = new Map<number, number>();
  readonly #waits: number[] = [];
  #now = DAY_MS;
  #stopAt = Number.POSITIVE_INFINITY;
  #posted = 0;
  #pending = 0;
  #over = 0;
  #requests = 0;
  #refused = 0;
  #falselyRefused = 0;
  #syncs = 0;
  #tight: { at: number; syncs: number } | undefined;
  #first: { at: number; syncs: number; posted: number; requests: number } | undefined;

  constructor({ gateways, capUsd, seed = 1, isCentral = false, holdUsd = 0.2 }: SimulationOptions) {
    this.#cap = capUsd * NANO;
    this.#isCentral = isCentral;
    this.#holdUsd = holdUsd;
    this.#size = gateways;
    this.#authority = new AuthorityModel([{ id: BUDGET, everyMs: 1_000 * DAY_MS, cap: this.#cap }]);
    const chance = chanceOf(seed);
    this.#next = () => chance.int(2 ** 32) / 2 ** 32;
  }

  run(): Figures {
    for (let id = 1; id <= this.#size; id++) {
      this.#authority.join(id, 'n');
      const node = this.#node(id);
      this.#at(this.#exponential(PAUSE_MS), () => this.#burst(node));
    }
    for (let event = this.#events.take(); event && event.at <= this.#stopAt; event = this.#events.take()) {
      this.#now = event.at;
      event.run();
    }
    return this.#figures();
  }

  #figures(): Figures {
    const percent = (posted: number) => (100 * posted) / this.#cap;
    const first = this.#first ?? {
      at: this.#now,
      syncs: this.#syncs,
      posted: this.#posted,
      requests: this.#requests,
    };
    const tight = this.#tight ?? first;
    const rate = (syncs: number, ms: number) => (ms > 0 ? (syncs * 1_000) / ms : 0);
    this.#waits.sort((a, b) => a - b);
    return {
      usedAtFirst: percent(first.posted),
      usedAtEnd: percent(this.#posted),
      overNanoUsd: this.#over,
      requests: this.#requests,
      refused: this.#refused,
      falselyRefused: this.#falselyRefused,
      syncs: {
        before: rate(tight.syncs, tight.at - DAY_MS),
        tight: rate(first.syncs - tight.syncs, first.at - tight.at),
        after: rate(this.#syncs - first.syncs, this.#now - first.at),
        peak: Math.max(0, ...this.#syncsPerSecond.values()),
      },
      waited: (100 * this.#waits.length) / first.requests,
      waitP99: this.#waits[Math.floor(this.#waits.length * 0.99)] ?? 0,
    };
  }

  #node(id: number): Node {
    const clock = { now: () => this.#now, monotonic: () => this.#now };
    const node: Node = {
      id,
      account: { limit: 0, posted: 0, pending: 0 },
      demands: createDemands(clock, createTeamClock(clock, 0)),
      pace: createPace(this.#next),
      standings: new Map(),
      heardAt: Number.NEGATIVE_INFINITY,
      heardPosted: 0,
      queue: [],
      isSyncing: false,
      lastAt: Number.NEGATIVE_INFINITY,
      dueAt: Number.POSITIVE_INFINITY,
      plan: 0,
      seq: 0,
    };
    node.demands.onReason((reason) =>
      this.#schedule(node, node.pace.pauseFor(reason, this.#now - node.lastAt)),
    );
    return node;
  }

  /** One to four agents work for a while; then their machine is quiet. */
  #burst(node: Node): void {
    const until = this.#now + this.#exponential(BURST_MS);
    for (let agents = 1 + Math.floor(this.#next() * 4); agents > 0; agents--) {
      this.#at(this.#exponential(1_000), () => this.#ask(node, until));
    }
    this.#at(until - this.#now + this.#exponential(PAUSE_MS), () => this.#burst(node));
  }

  #ask(node: Node, until: number): void {
    if (this.#now > until) return;
    this.#requests++;
    const cost = Math.ceil(this.#logNormal(0.02, 1.2) * NANO);
    const amount = Math.max(cost, Math.ceil(this.#logNormal(this.#holdUsd, 0.6) * NANO));
    const request: Request = { node, cost, amount, until, since: this.#now, isWaiting: true };
    const queue = this.#isCentral ? this.#centralQueue : node.queue;
    queue.push(request);
    this.#serve(queue);
    if (!request.isWaiting) return;
    this.#at(MAX_WAIT_MS, () => {
      if (!request.isWaiting) return;
      queue.splice(queue.indexOf(request), 1);
      this.#refuse(request, false);
    });
  }

  /** Admits or refuses from the head of a queue, as the ledger does. */
  #serve(queue: Request[]): void {
    for (let request = queue[0]; request; request = queue[0]) {
      const outcome = this.#isCentral ? this.#admitCentrally(request) : this.#admit(request);
      if (outcome === 'wait') return;
      queue.shift();
      if (outcome === 'blocked') this.#refuse(request, true);
      else this.#start(request);
    }
  }

  #admitCentrally({ amount }: Request): 'held' | 'wait' | 'blocked' {
    if (this.#room() >= amount) return 'held';
    return this.#cap - this.#posted < amount ? 'blocked' : 'wait';
  }

  #admit({ node, amount }: Request): 'held' | 'wait' | 'blocked' {
    const { account, demands, standings, heardAt, heardPosted } = node;
    const room = account.limit - account.posted - account.pending;
    if (amount <= room) {
      account.pending += amount;
      demands.asked(BUDGET, amount, room - amount);
      return 'held';
    }
    demands.short(BUDGET, amount);
    const standing = standings.get(BUDGET);
    const isFresh = this.#now - heardAt < FRESH_MS;
    if (!standing || !isFresh || standing.left >= amount - room) return 'wait';
    return standing.unspent - (account.posted - heardPosted) < amount ? 'blocked' : 'wait';
  }

  #start(request: Request): void {
    const { node, amount } = request;
    request.isWaiting = false;
    if (this.#now > request.since && !this.#first) this.#waits.push(this.#now - request.since);
    this.#pending += amount;
    this.#over = Math.max(this.#over, this.#posted + this.#pending - this.#cap);
    this.#at(this.#logNormal(8_000, 0.8), () => this.#settle(request));
    if (this.#isCentral) node.account.pending += amount;
  }

  #settle({ node, amount, cost, until }: Request): void {
    node.account.pending -= amount;
    node.account.posted += cost;
    node.demands.spent(BUDGET, cost);
    this.#pending -= amount;
    this.#posted += cost;
    this.#serve(this.#isCentral ? this.#centralQueue : node.queue);
    this.#at(this.#exponential(2_000), () => this.#ask(node, until));
  }

  #refuse(request: Request, isExceeded: boolean): void {
    this.#first ??= {
      at: this.#now,
      syncs: this.#syncs,
      posted: this.#posted,
      requests: this.#requests,
    };
    this.#stopAt = Math.min(this.#stopAt, this.#now + AFTER_FIRST_MS);
    request.isWaiting = false;
    this.#refused++;
    if (this.#room() >= request.amount) this.#falselyRefused++;
    // An agent stops at 402, and tries again after 429.
    if (!isExceeded) this.#at(RETRY_MS, () => this.#ask(request.node, request.until));
  }

  #room(): number {
    return this.#cap - this.#posted - this.#pending;
  }

  #schedule(node: Node, delayMs: number): void {
    const at = this.#now + delayMs;
    if (node.isSyncing || node.dueAt <= at) return;
    node.dueAt = at;
    const plan = ++node.plan;
    this.#at(delayMs, () => {
      if (node.plan === plan) this.#sync(node);
    });
  }

  #sync(node: Node): void {
    node.isSyncing = true;
    node.dueAt = Number.POSITIVE_INFINITY;
    node.lastAt = this.#now;
    const { account, demands, id, standings } = node;
    const rows = composeMessage({
      accounts: [{ budgetId: BUDGET, start: 0, ...account }],
      budgets: [
        {
          id: BUDGET,
          start: 0,
          ends: 1_000 * DAY_MS,
          demand: demands.demandOf(BUDGET),
          need: demands.takeNeed(BUDGET),
        },
      ],
      standings,
      teamNow: this.#now,
      nowMs: this.#now,
    });
    account.limit = rows[0]?.d ?? account.limit;
    const message = { gateway: id, nonce: 'n', seq: ++node.seq, rows };
    this.#at(this.#roundTripHalf(), () => {
      this.#syncs++;
      const second = Math.floor(this.#now / 1_000);
      this.#syncsPerSecond.set(second, (this.#syncsPerSecond.get(second) ?? 0) + 1);
      const answer = this.#authority.sync(message, Math.floor(this.#now)) as SyncAnswer;
      this.#at(this.#roundTripHalf(), () => this.#hear(node, rows, answer));
    });
  }

  #hear(node: Node, rows: readonly SyncRow[], answer: SyncAnswer): void {
    const { account, demands, pace, standings } = node;
    for (const { limit, heard } of accountUpdates(rows, answer)) Object.assign(account, { limit, heard });
    const [row] = answer.rows;
    const [sent] = rows;
    if (row && sent) {
      standings.set(BUDGET, row);
      demands.setTight(BUDGET, row.tight);
      node.heardAt = this.#now;
      node.heardPosted = sent.s;
      pace.answered({ syncAfterMs: answer.sync_after_ms, wasNeedMet: row.l - sent.d >= sent.n });
      if (row.left < this.#cap / 50) this.#tight ??= { at: this.#now, syncs: this.#syncs };
    }
    demands.forgetNeeds();
    this.#serve(node.queue);
    node.isSyncing = false;
    const { limit, posted, pending, heard } = account;
    const isSettled = limit <= posted && pending === 0 && heard?.limit === limit && heard.posted === posted;
    const pause = pace.next({ hasNeed: demands.hasNeed(), isSettled });
    if (pause !== undefined) this.#schedule(node, pause);
  }

  #at(delayMs: number, run: () => void): void {
    this.#events.add(this.#now + delayMs, run);
  }

  #exponential(mean: number): number {
    return -Math.log(1 - this.#next()) * mean;
  }

  #logNormal(median: number, sigma: number): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.#next())) * Math.cos(2 * Math.PI * this.#next());
    return median * Math.exp(sigma * normal);
  }

  #roundTripHalf(): number {
    return 5 + this.#exponential(10);
  }
}

interface Event {
  at: number;
  run: () => void;
}

/** A binary heap: the earliest event first. */
class EventQueue {
  readonly #heap: Event[] = [];

  add(at: number, run: () => void): void {
    const heap = this.#heap;
    let i = heap.length;
    const event = { at, run };
    heap.push(event);
    while (i > 0) {
      const above = (i - 1) >> 1;
      if ((heap[above] as Event).at <= at) break;
      heap[i] = heap[above] as Event;
      i = above;
    }
    heap[i] = event;
  }

  take(): Event | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return top;
    let i = 0;
    for (let child = 1; child < heap.length; child = 2 * i + 1) {
      const right = child + 1;
      if (right < heap.length && (heap[right] as Event).at < (heap[child] as Event).at) child = right;
      if ((heap[child] as Event).at >= last.at) break;
      heap[i] = heap[child] as Event;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}
