import type { BudgetSettings, Standing } from '../../src/store/budgets/budgets.ts';
import { removeBudget, setBudget } from '../../src/store/budgets/budgets.ts';
import type { Db } from '../../src/store/database/open.ts';
import type { AdmissionResult } from '../../src/store/ledger/admission.ts';
import type { RequestRecord } from '../../src/store/ledger/record.ts';
import type { SettleResult } from '../../src/store/ledger/settlement.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  eventsOf,
  memoryDatabase,
  recordOf,
  type SimulatedDaemon,
  startDaemon,
  type World,
} from './simulator.ts';

/** One project with one daemon, said in few words: what most tests of the ledger need. */
export interface Shop extends World {
  db: Db;
  daemon: SimulatedDaemon;
  /** Sets a budget of project `p1`. */
  budget(settings: BudgetSettings): Promise<Standing>;
  removeBudget(period: BudgetSettings['period']): Promise<void>;
  /** Asks for room; resolves with the result and the request's id. */
  admit(
    amount: number,
    fields?: Parameters<typeof admissionOf>[2],
  ): Promise<AdmissionResult & { id: number }>;
  settle(id: number, costNanoUsd: number, fields?: Partial<RequestRecord>): Promise<SettleResult>;
  /** Admits and settles at the worst case. */
  spend(amount: number): Promise<void>;
  standings(): Promise<Standing[]>;
  /** The types of the events so far, or of those that were written since the last call. */
  news(): string[];
}

export async function openShop(options: Parameters<typeof createWorld>[0] = {}): Promise<Shop> {
  const world = createWorld(options);
  const db = await memoryDatabase();
  addProjects(db, 2);
  const daemon = startDaemon(db, world, 0);
  const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
  let seen = 0;
  const shop: Shop = {
    ...world,
    db,
    daemon,
    budget: (settings) =>
      setBudget(db, project, settings, { calendar: world.calendar, now: world.clock.now() }),
    removeBudget: (period) => removeBudget(db, project, { period }, world.clock.now()),
    async admit(amount, fields) {
      const id = daemon.nextId();
      return { ...(await daemon.ledger.admit(admissionOf(id, amount, fields))), id };
    },
    settle: (id, costNanoUsd, fields) => daemon.ledger.settle(recordOf(id, { costNanoUsd, ...fields })),
    async spend(amount) {
      const { id } = await shop.admit(amount);
      await shop.settle(id, amount);
    },
    standings: () => daemon.ledger.standings(1),
    news() {
      const all = eventsOf(db).map((event) => event.type);
      const fresh = all.slice(seen);
      seen = all.length;
      return fresh;
    },
  };
  return shop;
}
