import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLedger } from '../../../src/store/ledger/ledger.ts';
import { listRequests } from '../../../src/store/requests/request-log.ts';
import {
  addProjects,
  admissionOf,
  countedRandom,
  fileDatabase,
  memoryDatabase,
  openFast,
  recordOf,
  runs,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop } from '../../support/simulator-shop.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

const DAILY = { period: 'daily', capNanoUsd: 100 } as const;

describe('settleLate()', () => {
  test('rides on the transaction of the next hold: a client that waits for each answer pays for one', async () => {
    const { daemon, db, budget } = await openShop();
    await budget(DAILY);
    let commits = 0;
    daemon.ledger.onCommit(() => commits++);
    for (let i = 0; i < 10; i++) {
      const id = daemon.nextId();
      await daemon.ledger.admit(admissionOf(id, 5));
      expect(daemon.ledger.settleLate(recordOf(id, { costNanoUsd: 1 }))?.remaining).toBe(99 - i);
    }
    expect(commits).toBe(10);
    expect(await listRequests(db)).toHaveLength(9);
    await daemon.ledger.settled();
    expect([commits, (await listRequests(db)).length]).toEqual([11, 10]);
    checkDatabase(db);
  });

  test('is committed after 2 ms without a request', async () => {
    const clock = createVirtualClock();
    const db = await memoryDatabase();
    addProjects(db, 1);
    const { calendar } = await openShop();
    const ledger = createLedger({
      db,
      clock,
      calendar: () => calendar,
      slot: 0,
      random: countedRandom('late'),
    });
    await ledger.admit(admissionOf(1, 5));
    const late = ledger.settleLate(recordOf(1, { costNanoUsd: 3 }));
    await clock.advance(1);
    expect(await listRequests(db)).toEqual([]);
    await clock.advance(1);
    expect(await late?.committed).toEqual({ kind: 'settled', remaining: null });
    expect(await listRequests(db)).toMatchObject([{ costNanoUsd: 3 }]);
  });

  test('makes room for the request that comes next', async () => {
    const { daemon, admit, budget } = await openShop();
    await budget(DAILY);
    const { id } = await admit(100);
    daemon.ledger.settleLate(recordOf(id, { costNanoUsd: 10 }));
    expect(await admit(90)).toMatchObject({ kind: 'held', remaining: 0 });
  });

  test('is left to the database when another process has written, and for rolling budgets', async () => {
    const path = await fileDatabase();
    const db = await openFast(path);
    addProjects(db, 1);
    const shop = await openShop();
    const clock = createVirtualClock();
    const ledger = createLedger({ db, clock, calendar: () => shop.calendar, slot: 0 });
    await ledger.admit(admissionOf(1, 5));
    const other = await openFast(path);
    other.exec("INSERT INTO names (name) VALUES ('other')");
    // It looks for that every 10 ms.
    await clock.advance(11);
    expect(ledger.settleLate(recordOf(1))).toBeUndefined();
    expect(await ledger.settle(recordOf(1))).toMatchObject({ kind: 'settled' });
    for (const connection of [db, other]) connection.close();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 3_600_000 });
    const { id } = await shop.admit(5);
    expect(shop.daemon.ledger.settleLate(recordOf(id))).toBeUndefined();
  });

  test('names the room that the settlement leaves, whatever else is settled, held or blocked meanwhile', async () => {
    const moves = fc.array(
      fc.record({ amount: fc.nat({ max: 40 }), percent: fc.nat({ max: 120 }), open: fc.nat({ max: 3 }) }),
      { maxLength: 25 },
    );
    const property = fc.asyncProperty(moves, async (all) => {
      const { daemon, db, admit, budget, standings } = await openShop();
      await budget({ ...DAILY, capNanoUsd: 200 });
      await budget({ period: 'monthly', capNanoUsd: 300 });
      const running: { id: number; amount: number }[] = [];
      for (const { amount, percent, open } of all) {
        const asked = await admit(amount);
        if (asked.kind === 'held') running.push({ id: asked.id, amount });
        let last: number | null | undefined;
        while (running.length > open) {
          const next = running.shift();
          if (!next) break;
          const costNanoUsd = Math.floor((next.amount * percent) / 100);
          last = daemon.ledger.settleLate(recordOf(next.id, { costNanoUsd }))?.remaining;
          expect(last).toBeTypeOf('number');
        }
        if (last === undefined) continue;
        const left = (await standings()).map(
          ({ budget: { capNanoUsd }, posted, pending }) => capNanoUsd - posted - pending,
        );
        expect(last).toBe(Math.min(...left));
      }
      await daemon.ledger.settled();
      checkDatabase(db);
      db.close();
    });
    await fc.assert(property, runs(process.env.GW_LONG ? 0.2 : 0.08));
  });
});
