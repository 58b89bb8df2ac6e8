import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRequestIds, timeOfRequestId } from '../../../src/ids.ts';
import { createArchive } from '../../../src/store/archive/archive.ts';
import { lastRequestId } from '../../../src/store/database/daemons.ts';
import type { Db } from '../../../src/store/database/open.ts';
import { BROUGHT_BACK, SHIFTED } from '../../../src/store/database/set-back.ts';
import { listRequests } from '../../../src/store/requests/request-log.ts';
import {
  admissionOf,
  eventsOf,
  NOON,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  type SimulatedDaemon,
  startDaemon,
} from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const CAP = 100;

describe('after a clock that was in the future for a while', () => {
  test('a request that ran meanwhile settles in the right period, and nothing stays held', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    await shop.budget({ period: 'rolling', capNanoUsd: CAP, windowMs: HOUR });
    shop.clock.set(NOON + 30 * DAY);
    const { id } = await shop.admit(40);
    shop.clock.set(NOON);
    expect(await shop.standings()).toMatchObject([{ pending: 40 }, { pending: 40 }]);
    await shop.settle(id, 30);
    expect(await shop.standings()).toMatchObject([
      { posted: 30, pending: 0 },
      { posted: 30, pending: 0 },
    ]);
  });

  test('the next period starts empty, where the right one had room for what was spent', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(CAP);
    shop.clock.set(NOON);
    expect(await shop.admit(1)).toMatchObject({ kind: 'blocked' });
    shop.clock.set(NOON + DAY);
    expect(await shop.admit(CAP)).toMatchObject({ kind: 'held' });
  });

  test('what was spent beyond a cap fills the next period, and no more than that', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    await shop.spend(CAP);
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(60);
    shop.clock.set(NOON);
    expect((await shop.standings())[0]).toMatchObject({ posted: CAP + 60 });
    shop.clock.set(NOON + DAY);
    expect((await shop.standings())[0]).toMatchObject({ posted: 60 });
    shop.clock.set(NOON + 2 * DAY);
    expect((await shop.standings())[0]).toMatchObject({ posted: 0 });
  });

  test('a window is free again after its length, not when the wrong time comes', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: CAP, windowMs: HOUR });
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(CAP);
    shop.clock.set(NOON);
    expect(await shop.admit(1)).toMatchObject({ kind: 'blocked' });
    shop.clock.set(NOON + HOUR + 2 * MINUTE);
    expect(await shop.admit(CAP)).toMatchObject({ kind: 'held' });
  });

  test('what was spent beyond a window fills the windows after it, and no more than that', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: CAP, windowMs: HOUR });
    await shop.spend(CAP);
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(60);
    shop.clock.set(NOON);
    expect((await shop.standings())[0]).toMatchObject({ posted: CAP + 60 });
    shop.clock.set(NOON + HOUR + MINUTE);
    expect((await shop.standings())[0]).toMatchObject({ posted: 60 });
    shop.clock.set(NOON + 2 * (HOUR + MINUTE));
    expect((await shop.standings())[0]).toMatchObject({ posted: 0 });
  });

  test('a window does not send again the events that it has sent', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'rolling', capNanoUsd: CAP, windowMs: HOUR });
    shop.clock.set(NOON + 10 * MINUTE);
    await shop.spend(CAP - 10);
    expect(await shop.admit(20)).toMatchObject({ kind: 'blocked' });
    const sent = eventsOf(shop.db).map(({ type }) => type);
    expect(sent).toEqual(expect.arrayContaining(['budget.threshold_reached', 'budget.exceeded']));
    shop.clock.set(NOON);
    expect(await shop.admit(20)).toMatchObject({ kind: 'blocked' });
    const budgetEvents = eventsOf(shop.db).filter(({ type }) => type.startsWith('budget.'));
    expect(budgetEvents.map(({ type }) => type)).toEqual(sent.filter((type) => type.startsWith('budget.')));
  });

  test('requests have the time of the clock, in the order in which they came in', async () => {
    const shop = await openShop();
    await shop.spend(1);
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(2);
    shop.clock.set(NOON + MINUTE);
    await shop.spend(3);
    const check = async () => {
      const all = await listRequests(shop.db);
      expect(all.map(({ costNanoUsd }) => costNanoUsd)).toEqual([3, 2, 1]);
      expect(all.map(({ timeMs }) => timeMs)).toEqual([NOON + MINUTE, NOON + MINUTE, NOON]);
      const today = await listRequests(shop.db, { since: NOON, until: NOON + HOUR });
      expect(today.map(({ costNanoUsd }) => costNanoUsd)).toEqual([3, 2, 1]);
    };
    await check();
    createArchive(shop.db).takeOver(shop.clock.now() + HOUR);
    await check();
    const buckets = shop.db.prepare('SELECT bucket FROM usage_hours ORDER BY bucket').pluck().all();
    expect(buckets).toEqual([NOON]);
  });

  test('not even the year 2150 stays', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    shop.clock.set(Date.UTC(2150, 0, 1));
    await shop.spend(60);
    shop.clock.set(NOON);
    await shop.spend(10);
    expect((await shop.standings())[0]).toMatchObject({ posted: 70 });
    const all = await listRequests(shop.db);
    expect(all.map(({ costNanoUsd, timeMs }) => [costNanoUsd, timeMs <= NOON])).toEqual([
      [10, true],
      [60, true],
    ]);
  });

  test('a clock that is not set, as 1970, moves nothing', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    await shop.spend(60);
    shop.clock.set(DAY);
    await shop.spend(10);
    const times = async () => (await listRequests(shop.db)).map(({ timeMs }) => timeMs);
    expect(await times()).toEqual([NOON, NOON]);
    expect((await shop.standings())[0]).toMatchObject({ posted: 70 });
    shop.clock.set(NOON + HOUR);
    await shop.spend(20);
    expect(await times()).toEqual([NOON + HOUR, NOON, NOON]);
    expect((await shop.standings())[0]).toMatchObject({ posted: 90 });
  });

  test('a second daemon gives ids behind those of the first', async () => {
    const shop = await openShop();
    const other = startDaemon(shop.db, shop, 1);
    shop.clock.set(NOON + 30 * DAY);
    await shop.spend(1);
    shop.clock.set(NOON);
    await other.ledger.roll();
    const ids = [lastRequestId(shop.db), other.nextId(), other.nextId()];
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(timeOfRequestId(ids[2] ?? 0)).toBeLessThan(NOON + 30 * DAY + 10);
  });

  test('all stored times of the past are in the past again', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: CAP });
    shop.clock.set(NOON + 30 * DAY);
    const { id } = await shop.admit(CAP, { session: 's', agent: 'a' });
    await shop.settle(id, CAP);
    expect(eventsOf(shop.db).length).toBeGreaterThan(0);
    shop.clock.set(NOON);
    await shop.daemon.ledger.roll();
    for (const [table, column] of BROUGHT_BACK)
      expect([
        table,
        shop.db.prepare(`SELECT count(*) FROM ${table} WHERE ${column} > ?`).pluck().get(NOON),
      ]).toEqual([table, 0]);
  });

  test('every column with a time is brought back, or has a reason not to be', async () => {
    const { db } = await openShop();
    const columns = db
      .prepare<[], [string, string]>(
        `SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE '\\_\\_%' ESCAPE '\\' AND (c.name = 'at' OR c.name LIKE '%\\_at' ESCAPE '\\' OR c.name LIKE '%until' OR c.name LIKE '%\\_since' ESCAPE '\\')`,
      )
      .raw()
      .all()
      .map(([table, column]) => `${table}.${column}`);
    const back = [...BROUGHT_BACK, ...SHIFTED].map(([table, column]) => `${table}.${column}`);
    expect(columns.filter((name) => !back.includes(name)).sort()).toEqual([...STAYS].sort());
    expect(back.filter((name) => !columns.includes(name))).toEqual([]);
  });
});

/** Shown, or only asked whether they are set. The end of a webhook's secret is bounded instead. */
const STAYS = [
  'budgets.created_at',
  'budgets.removed_at',
  'daemons.started_at',
  'deliveries.replayed_at',
  'keys.revoked_at',
  // The provider's.
  'limit_history.resets_at',
  'limits.resets_at',
  'objects.created_at',
  'price_overrides.updated_at',
  'projects.created_at',
  'projects.cut_at',
  'projects.paused_at',
  'projects.removed_at',
  'team_membership.courier_until',
  'team_membership.joined_at',
  'team_membership.keys_checked_at',
  'webhook_endpoints.created_at',
  'webhook_endpoints.disabled_at',
  'webhook_endpoints.old_secret_until',
];

type Move =
  | { kind: 'jump'; ms: number }
  | { kind: 'spend'; daemon: number; amount: number; settles: boolean }
  | { kind: 'settle' }
  | { kind: 'restart'; daemon: number };

/** Jumps to and fro over few days, where each cap counts, or of any length. */
const jumps = {
  near: fc.constantFrom(DAY, -DAY),
  far: fc.oneof(
    fc.integer({ min: -3 * DAY, max: 3 * DAY }),
    fc.constantFrom(HOUR, -HOUR, 7 * DAY, -7 * DAY, 31 * DAY, -31 * DAY),
  ),
};

const movesBy = (ms: fc.Arbitrary<number>) =>
  fc.array(
    fc.oneof<fc.WeightedArbitrary<Move>[]>(
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant('spend' as const),
          daemon: fc.nat({ max: 1 }),
          amount: fc.constantFrom(10, 40, CAP, CAP),
          settles: fc.boolean(),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('restart' as const), daemon: fc.nat({ max: 1 }) }),
      },
    ),
    { minLength: 5, maxLength: 40 },
  );

const moves = fc.oneof(movesBy(jumps.near), movesBy(jumps.far));

const SPEND: Move = { kind: 'spend', daemon: 0, amount: CAP, settles: true };
const jump = (ms: number): Move => ({ kind: 'jump', ms });
/** Where a cap that was spent early is granted again, this finds it at once, and chance only now and then. */
const TO_AND_FRO: Move[] = [SPEND, ...[DAY, -DAY, DAY, -DAY, DAY].flatMap((ms) => [jump(ms), SPEND])];

/** Replaces a part of a daemon by a defect. */
type Fault = (daemon: SimulatedDaemon, db: Db, now: () => number) => SimulatedDaemon;

const none: Fault = (daemon) => daemon;

/** A defect that a trigger plants into what the ledger writes. */
const planted =
  (...triggers: string[]): Fault =>
  (daemon, db) => {
    for (const [i, trigger] of triggers.entries())
      db.exec(`CREATE TEMP TRIGGER IF NOT EXISTS fault_${i} ${trigger}`);
    return daemon;
  };

const FAULTS: [string, Fault][] = [
  [
    'grants a cap again that was spent early',
    planted('AFTER UPDATE OF early_start ON budgets BEGIN UPDATE budget_periods SET early_nano_usd = 0; END'),
  ],
  [
    'loses what was spent in a period that is closed',
    planted(`AFTER INSERT ON budget_periods WHEN new.early_nano_usd > 0 BEGIN
      UPDATE budget_periods SET posted_nano_usd = 0 WHERE budget_id = new.budget_id AND start = new.start; END`),
  ],
  [
    'leaves holds in a period that is closed',
    planted('BEFORE UPDATE OF charges ON journal WHEN old.state = 0 BEGIN SELECT RAISE(IGNORE); END'),
  ],
  [
    'makes ids of the clock alone',
    (daemon, _, now) => ({ ...daemon, nextId: createRequestIds(daemon.slot, now) }),
  ],
];

/**
 * Plays jumps of the clock over two daemons that restart. Throws if more was held than one cap for each day that the clock
 * has shown so far, if not all of it is charged, or if the list of requests is not in the order in which they came in.
 */
async function play(all: Move[], fault: Fault): Promise<void> {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: CAP });
  const start = (slot: number) => fault(startDaemon(shop.db, shop, slot), shop.db, () => shop.clock.now());
  const daemons = [start(0), start(1)];
  const dayOf = (timeMs: number) => Math.floor(timeMs / DAY);
  const settle = (id: number, amount: number) =>
    daemons[0]?.ledger.settle(recordOf(id, { costNanoUsd: amount }));
  let now = NOON;
  let granted = 0;
  let furthest = dayOf(now);
  const ids: number[] = [];
  const open: { id: number; amount: number }[] = [];
  for (const move of all) {
    const daemon = daemons[move.kind === 'spend' || move.kind === 'restart' ? move.daemon : 0];
    if (!daemon) throw new Error('there are two daemons');
    if (move.kind === 'jump') {
      now = Math.max(NOON, now + move.ms);
      furthest = Math.max(furthest, dayOf(now));
      shop.clock.set(now);
    } else if (move.kind === 'restart') daemons[move.daemon] = start(move.daemon);
    else if (move.kind === 'spend') {
      // Ids of one millisecond are in the order of their daemons.
      shop.clock.set(++now);
      // As each sweep does, and each request of another process.
      await daemon.ledger.roll();
      const id = daemon.nextId();
      const { kind } = await daemon.ledger.admit(admissionOf(id, move.amount));
      // A request that waits has no row yet.
      if (kind !== 'wait') ids.push(id);
      if (kind !== 'held') continue;
      granted += move.amount;
      if (move.settles) await settle(id, move.amount);
      else open.push({ id, amount: move.amount });
    } else {
      const settled = open.pop();
      if (settled) await settle(settled.id, settled.amount);
    }
    expect(granted).toBeLessThanOrEqual(CAP * (furthest - dayOf(NOON) + 1));
  }
  for (const { id, amount } of open) await settle(id, amount);
  const sums = shop.db
    .prepare('SELECT total(posted_nano_usd), total(pending_nano_usd <> 0) FROM budget_periods')
    .raw()
    .get();
  expect(sums).toEqual([granted, 0]);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  shop.db.close();
}

describe('over jumps of the clock, restarts and two daemons', () => {
  const check = (fault: Fault, share: number) =>
    fc.assert(
      fc.asyncProperty(moves, (all) => play(all, fault)),
      { ...runs(share), examples: [[TO_AND_FRO]], endOnFailure: fault !== none },
    );

  test(
    'no cap is granted twice, all of it is charged, and lists are in the order of insertion',
    async () => {
      await check(none, 0.04);
    },
    PROPERTY_TIMEOUT_MS,
  );

  test.each(FAULTS)(
    'a ledger fails that %s',
    async (_, fault) => {
      await expect(check(fault, 2)).rejects.toThrow();
    },
    PROPERTY_TIMEOUT_MS,
  );
});
