import { expect, test } from 'vitest';
import { createArchive } from '../../../src/store/archive/archive.ts';
import { createSizeLimit } from '../../../src/store/archive/size-limit.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { usageReport } from '../../../src/store/reports/usage-report.ts';
import { recordOf } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const MINUTE = 60_000;

/** A database with requests of all kinds, mixed: paid, free, unpriced, refused and blocked. */
async function full(): Promise<Shop> {
  const shop = await openShop();
  await shop.budget({ period: 'lifetime', capNanoUsd: 1_000_000 });
  for (let round = 0; round < 8; round++) {
    for (let i = 0; i < 60; i++) {
      const asked = await shop.admit(10);
      await shop.settle(asked.id, 5);
      const free = await shop.admit(0);
      await shop.settle(free.id, 0);
      const unpriced = await shop.admit(0);
      await shop.settle(unpriced.id, 0, { flags: FLAGS.unpriced });
      await shop.admit(2_000_000);
      const id = shop.daemon.nextId();
      await shop.daemon.ledger.record(
        recordOf(id, { outcome: 'refused', status: 404, detail: { error: 'x' } }),
      );
    }
    shop.clock.set(shop.clock.now() + 2 * MINUTE);
  }
  const archive = createArchive(shop.db);
  while (inTransaction(shop.db, () => archive.takeOver(shop.clock.now())));
  return shop;
}

const outcomes = ({ db }: Shop) =>
  db
    .prepare(
      'SELECT outcome, flags & 4 AS unpriced, cost_nano_usd > 0 AS paid, count(*) AS n FROM requests GROUP BY 1, 2, 3',
    )
    .all();
const report = ({ db, calendar }: Shop) =>
  usageReport(db, calendar, { from: '2026-01-01', to: '2027-12-31', groupBy: 'model' });

test('a full database drops the oldest refusals first, then what was free, then events, and never money', async () => {
  const shop = await full();
  const before = [await report(shop), await shop.standings()];
  const limit = createSizeLimit(shop.db);
  const step = () => inTransaction(shop.db, () => limit(1));
  const firstAt = (where: string) =>
    Number(shop.db.prepare(`SELECT min(id) FROM requests WHERE ${where}`).pluck().get());
  const oldest = [firstAt('outcome IN (1, 5)'), firstAt('outcome = 0')];
  expect(step()).toBe(true);
  expect(firstAt('outcome IN (1, 5)')).toBeGreaterThan(Number(oldest[0]));
  expect(firstAt('outcome = 0')).toBe(oldest[1]);
  while (step());
  // The newest is a refusal, and is kept: no id is used again.
  expect(outcomes(shop)).toEqual([
    { outcome: 0, unpriced: 0, paid: 1, n: 480 },
    { outcome: 0, unpriced: 4, paid: 0, n: 480 },
    { outcome: 5, unpriced: 0, paid: 0, n: 1 },
  ]);
  expect(shop.db.prepare('SELECT count(*) FROM request_details').pluck().get()).toBe(1);
  expect(shop.db.prepare('SELECT count(*) FROM events').pluck().get()).toBe(1);
  expect([await report(shop), await shop.standings()]).toEqual(before);
});

test('a database within its limit is left as it is', async () => {
  const shop = await full();
  const before = outcomes(shop);
  expect(inTransaction(shop.db, () => createSizeLimit(shop.db)(1024 ** 3))).toBe(false);
  expect(outcomes(shop)).toEqual(before);
});

test('events that a webhook still waits for are kept', async () => {
  const shop = await full();
  const last = Number(shop.db.prepare('SELECT max(sequence) FROM events').pluck().get());
  shop.db
    .prepare(
      `INSERT INTO webhook_endpoints (id, project_id, url, format, events, secret, created_at)
       VALUES (1, 1, 'https://x.test', 'json', 1, 's', 0)`,
    )
    .run();
  shop.db
    .prepare('INSERT INTO deliveries (endpoint_id, sequence, due_at, created_at) VALUES (1, ?, 0, 0)')
    .run(last - 9);
  const limit = createSizeLimit(shop.db);
  while (inTransaction(shop.db, () => limit(1)));
  expect(shop.db.prepare('SELECT count(*) FROM events').pluck().get()).toBe(10);
});
