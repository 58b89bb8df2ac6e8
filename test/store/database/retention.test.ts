import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestIdAt } from '../../../src/ids.ts';
import { createArchive } from '../../../src/store/archive/archive.ts';
import { lastRequestId } from '../../../src/store/database/daemons.ts';
import { createPruning, type Pruning } from '../../../src/store/database/retention.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { GROUPINGS } from '../../../src/store/reports/query.ts';
import { usageReport } from '../../../src/store/reports/usage-report.ts';
import { NOON, PROPERTY_TIMEOUT_MS, recordOf, runs } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Prunes until nothing is left to prune. */
/** Archives what has ended, and prunes it. */
function pruneAll({ db, clock }: Shop, keepMs: number, pruning = createPruning(db)): void {
  const archive = createArchive(db);
  while (inTransaction(db, () => archive.takeOver(clock.now())));
  const kinds: (keyof Pruning)[] = ['requests', 'deliveries', 'events', 'minutes'];
  for (const kind of kinds) while (inTransaction(db, () => pruning[kind](clock.now(), keepMs)));
}

const count = ({ db }: Shop, table: string) =>
  Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());

function reports({ db, calendar }: Shop) {
  return Promise.all(
    GROUPINGS.map((groupBy) => usageReport(db, calendar, { from: '2026-01-01', to: '2027-12-31', groupBy })),
  );
}

const moves = fc.array(
  fc.record({
    pauseMs: fc.oneof(fc.integer({ min: 0, max: HOUR }), fc.integer({ min: 0, max: 9 * DAY })),
    amount: fc.integer({ min: 1, max: 40 }),
    percent: fc.constantFrom(0, 50, 100),
    /** How many requests are left running before this one settles. */
    open: fc.nat({ max: 3 }),
    newBudget: fc.constantFrom(null, null, 'daily' as const, 'monthly' as const, 'rolling' as const),
    windowMs: fc.constantFrom(MINUTE, 5 * HOUR, 31 * DAY),
    prune: fc.boolean(),
  }),
  { minLength: 5, maxLength: 30 },
);

describe('pruning', () => {
  test(
    'changes no report, no balance and no decision of a ledger that goes on meanwhile',
    async () => {
      const property = fc.asyncProperty(moves, async (all) => {
        const [pruned, whole] = await Promise.all([openShop(), openShop()]);
        const pruning = createPruning(pruned.db);
        const both = async <T>(act: (shop: Shop) => Promise<T>): Promise<T> => {
          const [one, other] = await Promise.all([act(pruned), act(whole)]);
          expect(one).toEqual(other);
          return one;
        };
        await both((shop) => shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 31 * DAY }));
        const running: { ids: Map<Shop, number>; amount: number }[] = [];
        let now = NOON;
        for (const { pauseMs, amount, percent, open, newBudget, windowMs, prune } of all) {
          now += pauseMs;
          await both(async (shop) => shop.clock.set(now));
          if (newBudget) {
            await both((shop) => shop.removeBudget(newBudget).catch(() => {}));
            const window = newBudget === 'rolling' ? { windowMs } : {};
            await both((shop) => shop.budget({ period: newBudget, capNanoUsd: 90, ...window }));
          }
          // Where somebody else has written, ids go on in the next millisecond: each has its own.
          const ids = new Map<Shop, number>();
          const asked = await both(async (shop) => {
            const { id, ...admitted } = await shop.admit(amount);
            ids.set(shop, id);
            return admitted;
          });
          if (asked.kind === 'held') running.push({ ids, amount });
          while (running.length > open) {
            const [next] = running.splice(0, 1);
            if (!next) break;
            const costNanoUsd = Math.floor((next.amount * percent) / 100);
            await both((shop) => shop.settle(next.ids.get(shop) as number, costNanoUsd));
          }
          if (prune) {
            await pruned.daemon.takeOver();
            await pruned.daemon.sumNextHour(now);
            pruneAll(pruned, 33 * DAY, pruning);
          }
          await both((shop) => shop.standings());
        }
        await both(reports);
        for (const { daemon } of [pruned, whole]) await daemon.takeOver();
        await both(async ({ db }) => db.prepare('SELECT * FROM usage').all());
        pruned.db.close();
        whole.db.close();
      });
      await fc.assert(property, runs(0.05));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test('takes the oldest records first, a few a step, and none that came in later', async () => {
    const shop = await openShop();
    for (let i = 0; i < 600; i++) void shop.daemon.ledger.record(recordOf(requestIdAt(NOON - 100 * DAY) + i));
    await shop.daemon.ledger.record(recordOf(requestIdAt(NOON - 90 * DAY)));
    await shop.daemon.ledger.record(recordOf(requestIdAt(NOON)));
    await shop.daemon.takeOver();
    const pruning = createPruning(shop.db);
    const step = () => inTransaction(shop.db, () => pruning.requests(NOON, 90 * DAY));
    const left = [];
    for (let more = true; more; left.push(count(shop, 'requests'))) more = step();
    expect(left).toEqual([352, 102, 2]);
  });

  test('keeps the newest record, so that ids go on from it', async () => {
    const shop = await openShop();
    await shop.spend(5);
    const last = lastRequestId(shop.db);
    shop.clock.set(NOON + 400 * DAY);
    pruneAll(shop, DAY);
    expect(lastRequestId(shop.db)).toBe(last);
  });

  test('does not let a request settle a second time', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'monthly', capNanoUsd: 100 });
    const { id } = await shop.admit(10);
    await shop.settle(id, 10);
    shop.clock.set(NOON + 2 * DAY);
    await shop.spend(1);
    pruneAll(shop, DAY);
    expect(await shop.settle(id, 10)).toEqual({ kind: 'resolved_before' });
    expect(count(shop, 'requests')).toBe(1);
    expect(await shop.standings()).toMatchObject([{ posted: 11 }]);
  });

  test('leaves a hold that is older than any record, and what it comes to cost', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: HOUR });
    const { id } = await shop.admit(60);
    shop.clock.set(NOON + 100 * DAY);
    await shop.spend(1);
    pruneAll(shop, DAY);
    expect(await shop.standings()).toMatchObject([{ posted: 1, pending: 60 }]);
    await shop.settle(id, 30);
    pruneAll(shop, DAY);
    expect(await shop.standings()).toMatchObject([{ posted: 1, pending: 0 }]);
    const [byDay] = await reports(shop);
    expect(byDay?.total).toMatchObject({ requests: 2, costNanoUsd: 31 });
  });

  test('forgets minutes that no window reaches, of removed budgets too', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 1_000, windowMs: 31 * DAY });
    for (let day = 0; day < 40; day++) {
      shop.clock.set(NOON + day * DAY);
      await shop.spend(1);
    }
    pruneAll(shop, DAY);
    expect(count(shop, 'budget_periods')).toBe(32);
    expect(await shop.standings()).toMatchObject([{ posted: 32 }]);
    await shop.removeBudget('rolling');
    shop.clock.set(NOON + 90 * DAY);
    pruneAll(shop, DAY);
    expect(count(shop, 'budget_periods')).toBe(0);
  });

  test('keeps minutes that a stored sum still holds, until the budget is used again', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: 1_000, windowMs: 31 * DAY });
    await shop.spend(50);
    shop.clock.set(NOON + 33 * DAY);
    pruneAll(shop, DAY);
    expect(await shop.standings()).toMatchObject([{ posted: 0 }]);
    await shop.spend(3);
    pruneAll(shop, DAY);
    expect(count(shop, 'budget_periods')).toBe(1);
    expect(await shop.standings()).toMatchObject([{ posted: 3 }]);
  });

  test('a window that begins where records were pruned counts the whole of its first hour', async () => {
    const shop = await openShop();
    await shop.spend(7);
    shop.clock.set(NOON + 5 * DAY);
    await shop.spend(1);
    pruneAll(shop, DAY);
    shop.clock.set(NOON + 5 * DAY + 30 * MINUTE);
    const standing = await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 5 * DAY });
    expect(standing.posted).toBe(8);
  });
});

describe('pruning events', () => {
  const insertEndpoint = `INSERT INTO webhook_endpoints (project_id, url, format, events, secret, created_at)
    VALUES (1, 'http://a.example', 'json', 15, 's', 0)`;

  async function withEvents(): Promise<Shop> {
    const shop = await openShop();
    shop.db.exec(insertEndpoint);
    await shop.budget({ period: 'daily', capNanoUsd: 10 });
    for (const day of [0, 1, 2]) {
      shop.clock.set(NOON + day * DAY);
      await shop.spend(10);
    }
    return shop;
  }
  const sequences = ({ db }: Shop) =>
    db.prepare('SELECT sequence FROM events ORDER BY sequence').pluck().all();
  const finish = ({ db, clock }: Shop, condition: string) =>
    db
      .prepare(`UPDATE deliveries SET state = 'delivered', finished_at = ? WHERE ${condition}`)
      .run(clock.now());

  test('waits until every delivery of them has ended and was kept for its time', async () => {
    const shop = await withEvents();
    const all = sequences(shop);
    finish(shop, 'sequence <> 3');
    shop.clock.set(NOON + 50 * DAY);
    pruneAll(shop, DAY);
    expect(sequences(shop)).toEqual(all.slice(2));
    expect(count(shop, 'deliveries')).toBe(1);
    finish(shop, 'sequence = 3');
    pruneAll(shop, DAY);
    expect(sequences(shop)).toEqual(all.slice(2));
    shop.clock.set(NOON + 90 * DAY);
    pruneAll(shop, DAY);
    expect(sequences(shop)).toEqual(all.slice(-1));
    expect(count(shop, 'deliveries')).toBe(0);
  });

  test('keeps those that a summary has yet to tell of', async () => {
    const shop = await withEvents();
    finish(shop, 'TRUE');
    shop.db.exec('INSERT INTO blocked_summaries VALUES (1, 2, 4, 5, 0)');
    shop.clock.set(NOON + 50 * DAY);
    pruneAll(shop, DAY);
    expect(sequences(shop)[0]).toBe(4);
  });

  test('keeps a month of them however short records are kept', async () => {
    const shop = await withEvents();
    finish(shop, 'TRUE');
    const all = sequences(shop);
    shop.clock.set(NOON + 30 * DAY);
    pruneAll(shop, DAY);
    expect(sequences(shop)).toEqual(all);
  });
});
