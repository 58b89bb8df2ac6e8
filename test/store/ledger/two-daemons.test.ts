import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  fileDatabase,
  openFast,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';

/** Makes batches on a connection miss what others have written: what the test must notice. */
function makeBlind(db: Db): void {
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) =>
    prepare(sql === 'PRAGMA data_version' ? 'SELECT 0' : sql)) as typeof db.prepare;
}

interface Move {
  daemon: number;
  amount: number;
  /** Of the hold; undefined asks for room instead. */
  percent: number | undefined;
}

const CAP = 100;
const moves = fc.array(
  fc.record<Move>({
    daemon: fc.nat({ max: 1 }),
    amount: fc.nat({ max: 60 }),
    percent: fc.option(fc.nat({ max: 100 }), { nil: undefined, freq: 1 }),
  }),
  { maxLength: 30 },
);

/** Two daemons on one file. No time passes, so that neither looks for what the other has written between batches. */
const neverPassesTheCap = (change: (db: Db) => void = () => {}) =>
  fc.asyncProperty(moves, async (all) => {
    const directory = mkdtempSync(join(tmpdir(), 'gw-two-'));
    const path = await fileDatabase(directory);
    const world = createWorld();
    world.clock.monotonic = () => 0;
    const [admin, ...connections] = await Promise.all([openFast(path), openFast(path), openFast(path)]);
    try {
      connections.forEach(change);
      addProjects(admin, 1);
      const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
      const { clock, calendar } = world;
      await setBudget(admin, project, { period: 'daily', capNanoUsd: CAP }, { calendar, now: clock.now() });
      const daemons = connections.map((db, slot) => ({
        ...startDaemon(db, world, slot),
        running: [] as number[],
      }));
      const charged = admin
        .prepare<[], number>('SELECT sum(posted_nano_usd + pending_nano_usd) FROM budget_periods')
        .pluck();
      for (const { daemon: pick, amount, percent } of all) {
        const daemon = daemons[pick];
        if (!daemon) continue;
        const { ledger, nextId, running } = daemon;
        if (percent === undefined) {
          const id = nextId();
          const asked = ledger.admit(admissionOf(id, amount));
          ledger.flush();
          if ((await asked).kind === 'held') running.push(id);
        } else {
          const id = running.shift();
          if (id === undefined) continue;
          const cost = admin
            .prepare<[number], number>('SELECT hold_nano_usd FROM open_holds WHERE id = ?')
            .pluck();
          const record = recordOf(id, { costNanoUsd: Math.floor(((cost.get(id) ?? 0) * percent) / 100) });
          // It rides on this daemon's next batch.
          if (!ledger.settleLate(record)) {
            void ledger.settle(record);
            ledger.flush();
          }
        }
        expect(charged.get() ?? 0).toBeLessThanOrEqual(CAP);
      }
      for (const { ledger } of daemons) ledger.flush();
      expect(charged.get() ?? 0).toBeLessThanOrEqual(CAP);
      checkDatabase(admin);
    } finally {
      for (const db of [admin, ...connections]) db.close();
      rmSync(directory, { recursive: true });
    }
  });

test(
  'two daemons never pass a cap together, though they look for each other’s writes in batches alone',
  async () => {
    await fc.assert(neverPassesTheCap(), runs(0.05));
  },
  PROPERTY_TIMEOUT_MS,
);

test('they would if a batch did not look', async () => {
  const property = neverPassesTheCap(makeBlind);
  // The second daemon has looked once, and does not see what the first holds since.
  const ask = (daemon: number, amount: number) => ({ daemon, amount, percent: undefined });
  const examples: [Move[]][] = [[[ask(1, 1), ask(0, 60), ask(1, 60)]]];
  const options = { ...runs(0.1), examples, endOnFailure: true };
  await expect(fc.assert(property, options)).rejects.toThrow('Property failed');
});
