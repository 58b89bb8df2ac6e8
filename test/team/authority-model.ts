import type { Standing, SyncAnswer, SyncMessage, SyncRefusal } from '../../src/team/protocol.ts';

/** A budget whose periods are all of one length. */
export interface ModelBudget {
  id: number;
  everyMs: number;
  cap: number;
  isRemoved?: boolean;
}

interface Gateway {
  nonce: string;
  seq: number;
  state: 'active' | 'left' | 'forgotten';
}

interface Allowance {
  limit: number;
  spent: number;
  syncedAt: number;
  assumed: number;
}

interface Period {
  allocated: number;
  spent: number;
  active: number;
  countedAt: number;
  starvedAt: number;
  allowances: Map<number, Allowance>;
}

export interface AuthorityState {
  gateways: Map<number, Gateway>;
  periods: Map<string, Period>;
}

const STARVED_MS = 30_000;
const ACTIVE_MS = 60_000;
const COUNT_EVERY_MS = 2_000;
const EARLY_MS = 60_000;

/** `sync()` of the SQL schema in memory. A test holds the two together by random messages. */
export class AuthorityModel {
  readonly budgets = new Map<number, ModelBudget>();
  readonly #minSlice: number;
  readonly #divisor: number;
  readonly #syncsPerSecond: number;
  readonly #maxSharePercent: number;
  state: AuthorityState = { gateways: new Map(), periods: new Map() };
  isFrozen = false;

  constructor(
    budgets: readonly ModelBudget[],
    { minSlice = 10_000_000, divisor = 2, syncsPerSecond = 300, maxSharePercent = 25 } = {},
  ) {
    for (const budget of budgets) this.budgets.set(budget.id, budget);
    this.#minSlice = minSlice;
    this.#divisor = divisor;
    this.#syncsPerSecond = syncsPerSecond;
    this.#maxSharePercent = maxSharePercent;
  }

  join(id: number, nonce: string): void {
    this.state.gateways.set(id, { nonce, seq: 0, state: 'active' });
  }

  hello(id: number, old: string | undefined, next: string): 'ok' | 'identity_in_use' {
    const gateway = this.gateway(id);
    if (!this.isFrozen && gateway.nonce !== old && gateway.nonce !== next) return 'identity_in_use';
    if (gateway.nonce !== next) {
      gateway.nonce = next;
      gateway.seq = 0;
    }
    gateway.state = 'active';
    return 'ok';
  }

  /** What it was granted and has not reported counts as spent. */
  forget(id: number): void {
    const gateway = this.gateway(id);
    if (gateway.state !== 'active') return;
    gateway.state = 'forgotten';
    for (const period of this.state.periods.values()) {
      const allowance = period.allowances.get(id);
      if (!allowance) continue;
      period.spent += allowance.limit - allowance.spent - allowance.assumed;
      allowance.assumed = allowance.limit - allowance.spent;
    }
  }

  gateway(id: number): Gateway {
    const gateway = this.state.gateways.get(id);
    if (!gateway) throw new Error(`no gateway ${id}`);
    return gateway;
  }

  sync({ gateway: id, nonce, seq, rows }: SyncMessage, at: number): SyncAnswer | SyncRefusal {
    const gateway = this.gateway(id);
    if (gateway.state !== 'active') return { error: gateway.state };
    if (gateway.nonce !== nonce) return { error: 'fenced' };
    if (seq <= gateway.seq) return { error: 'stale' };
    gateway.seq = seq;
    const answers: Standing[] = [];
    let mostActive = 1;
    let isNear = false;
    for (const row of [...rows].sort((a, b) => a.b - b.b || a.p - b.p)) {
      const budget = this.budgets.get(row.b);
      if (!budget || row.d < 0 || row.s < 0 || row.n < 0 || row.w < 0) continue;
      let running = startOf(budget, at);
      if (row.p === running + budget.everyMs && at >= row.p - EARLY_MS) running = row.p;
      const period = this.#period(budget, row.p, running);
      if (!period) continue;
      const known = period.allowances.get(id);
      const before = known ?? { limit: 0, spent: 0, syncedAt: at, assumed: 0 };
      const spent = Math.max(before.spent, row.s);
      const declared = Math.max(spent, this.isFrozen ? row.d : Math.min(row.d, before.limit));
      const open = budget.cap - (period.allocated - before.limit + declared);
      const mayGrant = row.p === running && !this.isFrozen && !budget.isRemoved && open > 0;
      const share = Math.floor(budget.cap / 100) * this.#maxSharePercent - (declared - spent);
      const granted = mayGrant && row.n + row.w > 0 ? this.#slice(period, row, { open, at, share }) : 0;
      const limit = declared + granted;
      period.allocated += limit - before.limit;
      period.spent += spent - before.spent - before.assumed;
      if (row.n > granted && row.p === running && row.n <= budget.cap - period.spent) period.starvedAt = at;
      if (known || limit > 0 || row.n + row.w > 0) {
        period.allowances.set(id, { limit, spent, syncedAt: at, assumed: 0 });
      }
      const left = budget.cap - period.allocated;
      const starved = period.starvedAt > at - STARVED_MS;
      const tight = starved || left < Math.floor(budget.cap / 50);
      isNear ||= tight || left < Math.floor(budget.cap / 10);
      mostActive = Math.max(mostActive, period.active);
      const { active } = period;
      const unspent = budget.cap - period.spent;
      const ends = running + budget.everyMs;
      answers.push({
        b: budget.id,
        p: row.p,
        l: limit,
        o: 0,
        left,
        unspent,
        tight,
        starved,
        active,
        running,
        ends,
      });
    }
    const pace = Math.floor((mostActive * 1000) / this.#syncsPerSecond);
    return {
      seq,
      now: at,
      rows: answers,
      config: 1,
      incarnation: '',
      keys: 1,
      frozen: this.isFrozen,
      sync_after_ms: Math.max(isNear ? 2_000 : 15_000, pace),
    };
  }

  #period(budget: ModelBudget, start: number, running: number): Period | undefined {
    const key = `${budget.id} ${start}`;
    const known = this.state.periods.get(key);
    // A failover may have made it forget a past period.
    const isPast = this.isFrozen && start < running && startOf(budget, start) === start;
    if (known || (start !== running && !isPast)) return known;
    const fresh = { allocated: 0, spent: 0, active: 1, countedAt: 0, starvedAt: 0, allowances: new Map() };
    this.state.periods.set(key, fresh);
    return fresh;
  }

  #slice(
    period: Period,
    { n, w }: { n: number; w: number },
    { open, at, share }: { open: number; at: number; share: number },
  ): number {
    if (at - period.countedAt > COUNT_EVERY_MS) {
      const active = [...period.allowances.values()].filter(({ syncedAt }) => syncedAt > at - ACTIVE_MS);
      period.active = Math.max(1, active.length);
      period.countedAt = at;
    }
    const fair = Math.floor(open / (this.#divisor * period.active));
    const wanted = Math.min(w, Math.max(fair, this.#minSlice), Math.max(0, share));
    const slice = Math.min(open, n <= open ? Math.max(wanted, n) : wanted);
    // Too little to be of use is left to others.
    return n > slice ? 0 : slice;
  }
}

export function startOf({ everyMs }: ModelBudget, at: number): number {
  return at - (at % everyMs);
}
