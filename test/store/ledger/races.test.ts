import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { removeBudget, setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  eventsOf,
  fileDatabase,
  NOON,
  openFast,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  type SimulatedDaemon,
  startDaemon,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';

const CAP = 20;
const MINUTE_MS = 60_000;

interface Client {
  project: number;
  daemon: number;
  worst: number;
  actualPercent: number;
  hangsUp: boolean;
}

const clients = fc.array(
  fc.record<Client>({
    project: fc.integer({ min: 1, max: 2 }),
    daemon: fc.integer({ min: 0, max: 1 }),
    worst: fc.integer({ min: 0, max: 12 }),
    actualPercent: fc.constantFrom(0, 50, 100),
    hangsUp: fc.boolean(),
  }),
  { minLength: 2, maxLength: 12 },
);

test(
  'no interleaving of clients, daemons, a crash and changes of budgets breaks a cap or leaves a hold',
  async () => {
    const property = fc.asyncProperty(fc.scheduler(), clients, fc.boolean(), async (s, all, crash) => {
      const directory = mkdtempSync(join(tmpdir(), 'gw-race-'));
      const path = await fileDatabase(directory);
      const connections = await Promise.all([1, 2, 3].map(() => openFast(path)));
      try {
        await race(s, connections, all, crash);
      } finally {
        for (const db of connections) db.close();
        rmSync(directory, { recursive: true });
      }
    });
    await fc.assert(property, runs(process.env.GW_LONG ? 0.25 : 0.12));
  },
  PROPERTY_TIMEOUT_MS,
);

async function race(s: fc.Scheduler, connections: Db[], all: Client[], crash: boolean): Promise<void> {
  const [admin, ...own] = connections as [Db, Db, Db];
  const world = createWorld();
  addProjects(admin, 2);
  const set = (id: number, period: 'daily' | 'rolling', capNanoUsd: number) =>
    setBudget(
      admin,
      { id, name: `p${id}`, createdAt: 0 },
      { period, capNanoUsd, ...(period === 'rolling' ? { windowMs: MINUTE_MS } : {}) },
      { calendar: world.calendar, now: NOON },
    );
  await set(1, 'daily', CAP);
  await set(1, 'rolling', CAP - 5);
  const daemons = own.map((db, slot) => startDaemon(db, world, slot));
  const everywhere = () => {
    const over = admin
      .prepare(
        `SELECT p.* FROM budget_periods p JOIN budgets b ON b.id = p.budget_id
         WHERE b.project_id = 1 AND p.posted_nano_usd + p.pending_nano_usd > b.cap_nano_usd`,
      )
      .all();
    expect(over).toEqual([]);
    checkDatabase(admin);
  };
  const tasks = all.map((client) => serve(s, daemons, client, everywhere));
  // While they run: a budget of the second project comes, goes and comes again.
  tasks.push(
    (async () => {
      await s.schedule(Promise.resolve(), 'set a budget');
      const seeded = await set(2, 'daily', 30);
      await s.schedule(Promise.resolve(), 'remove it');
      await removeBudget(admin, { id: 2, name: 'p2', createdAt: 0 }, { period: 'daily' }, NOON);
      await s.schedule(Promise.resolve(), 'set it again');
      const again = await set(2, 'daily', 30);
      expect(again.posted + again.pending).toBeGreaterThanOrEqual(seeded.posted);
    })(),
  );
  if (crash) {
    tasks.push(
      (async () => {
        await s.schedule(Promise.resolve(), 'daemon 0 is taken for dead');
        await daemons[1]?.ledger.closeHolds(0);
      })(),
    );
  }
  await s.waitFor(Promise.all(tasks));
  atRest(admin);
}

/** One request from admission to settlement, with a pause of the scheduler's choice wherever a real one has one. */
async function serve(
  s: fc.Scheduler,
  daemons: SimulatedDaemon[],
  client: Client,
  check: () => void,
): Promise<void> {
  const daemon = daemons[client.daemon];
  if (!daemon) throw new Error('no such daemon');
  const { ledger } = daemon;
  const id = daemon.nextId();
  for (let tries = 0; tries < 3; tries++) {
    await s.schedule(Promise.resolve(), `${id} asks`);
    const result = await ledger.admit(admissionOf(id, client.worst, { projectId: client.project }));
    if (client.project === 1) check();
    if (result.kind === 'blocked') return;
    if (result.kind === 'held') break;
    if (tries === 2) {
      await ledger.record(recordOf(id, { projectId: client.project, outcome: 'refused', status: 429 }));
      return;
    }
  }
  await s.schedule(Promise.resolve(), `${id} is answered`);
  const costNanoUsd = Math.floor((client.worst * client.actualPercent) / 100);
  const settling = [ledger.settle(recordOf(id, { projectId: client.project, costNanoUsd }))];
  // The client hangs up in the same moment as the answer ends: two ends of one request.
  if (client.hangsUp) {
    settling.push(
      ledger.settle(recordOf(id, { projectId: client.project, costNanoUsd, outcome: 'client_gone' })),
    );
  }
  const kinds = (await Promise.all(settling)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'settled').length).toBeLessThanOrEqual(1);
  if (client.project === 1) check();
}

function atRest(db: Db): void {
  checkDatabase(db);
  expect(db.prepare('SELECT * FROM open_holds').all()).toEqual([]);
  const [posted, recorded] = [
    "SELECT sum(posted_nano_usd) FROM budget_periods p JOIN budgets b ON b.id = p.budget_id WHERE b.period = 'daily' AND b.removed_at IS NULL AND b.project_id = 1",
    'SELECT coalesce(sum(cost_nano_usd), 0) FROM request_log WHERE project_id = 1',
  ].map((sql) => db.prepare(sql).pluck().get());
  expect(posted ?? 0).toBe(recorded);
  const events = eventsOf(db).map(({ type, data }) => `${type} ${data.budget_id}`);
  const once = events.filter((event) => !event.startsWith('request.blocked p') && !event.includes(' p2/'));
  expect(once).toEqual([...new Set(once)]);
}
