import { describe, expect, test } from 'vitest';
import type { RequestRecord } from '../../../src/store/ledger/record.ts';
import { createBlockedEvents, createRefusalFolds } from '../../../src/store/ledger/refusals.ts';
import { listRequests } from '../../../src/store/requests/request-log.ts';
import { eventsOf, recordOf } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

const MINUTE = 60_000;

/** Folds over a journal that notes the rows it gets; those of `archived` take no more. */
function folding() {
  let now = 10 * MINUTE;
  let nextId = 1;
  const archived = new Set<number>();
  const counts = new Map<number, number>();
  const journal = {
    add: () => {},
    addFold: (_slot: number, { id }: RequestRecord) => void counts.set(id, 1),
    fold: (id: number) => !archived.has(id) && counts.set(id, (counts.get(id) ?? 0) + 1) !== undefined,
  };
  const folds = createRefusalFolds(journal, () => now);
  return {
    archived,
    counts,
    folds,
    pass: (ms: number) => {
      now += ms;
    },
    refuse: (times: number, fields: Partial<RequestRecord> = {}) =>
      Array.from(
        { length: times },
        () => folds.add(0, recordOf(nextId++, { outcome: 'blocked', ...fields }))?.id,
      ),
  };
}

describe('refusals of a key in a minute', () => {
  test('have rows of their own up to the hundredth, and share one from then on', () => {
    const { counts, refuse } = folding();
    expect(refuse(100)).toEqual(Array(100).fill(undefined));
    expect(refuse(3)).toEqual([101, 101, 101]);
    expect([...counts]).toEqual([[101, 3]]);
  });

  test('are counted apart by key, project and outcome, and answers are not counted', () => {
    const { refuse } = folding();
    refuse(101);
    const others = [{ keyId: 2 }, { projectId: 2 }, { outcome: 'refused' as const }];
    expect(others.flatMap((fields) => refuse(1, fields))).toEqual([undefined, undefined, undefined]);
    expect(refuse(101, { outcome: 'ok', keyId: 3 })).toEqual(Array(101).fill(undefined));
    expect(refuse(1)).toEqual([101]);
  });

  test('begin anew with the next minute of the clock', () => {
    const { pass, refuse } = folding();
    refuse(101);
    pass(MINUTE - 1);
    expect(refuse(1)).toEqual([101]);
    pass(1);
    expect(refuse(101)).toEqual([...Array(100).fill(undefined), 203]);
  });

  test('get another row once the archive has theirs, and after a batch that failed', () => {
    const { archived, folds, refuse } = folding();
    refuse(101);
    archived.add(101);
    expect(refuse(2)).toEqual([102, 102]);
    folds.forget();
    expect(refuse(2)).toEqual([104, 104]);
  });
});

test('refusals that share a row share its event, and each is counted for a webhook', async () => {
  const { db } = await openShop();
  db.exec(`INSERT INTO webhook_endpoints (project_id, url, format, events, secret, created_at)
    VALUES (1, 'https://x.test/', 'json', 8, 's', 0)`);
  let sequence = 40;
  const inserted: unknown[] = [];
  const emitBlocked = createBlockedEvents(
    db,
    () => 7,
    (type, projectId, data) => {
      inserted.push([type, projectId, data]);
      return ++sequence;
    },
  );
  const fold: Parameters<typeof emitBlocked>[2] = { id: 1 };
  emitBlocked(1, { n: 1 }, undefined);
  for (const n of [2, 3, 4]) emitBlocked(1, { n }, fold);
  expect(inserted).toEqual([
    ['request.blocked', 1, { n: 1 }],
    ['request.blocked', 1, { n: 2 }],
  ]);
  expect(fold.event).toBe(42);
  const summary = 'SELECT event_count, first_sequence, sequence FROM blocked_summaries';
  expect(db.prepare(summary).raw().all()).toEqual([[2, 42, 42]]);
});

test('refusals of a batch that fails are counted once, in a row of their own', async () => {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 0 });
  for (let i = 0; i < 101; i++) await shop.admit(5);
  const failing = shop.daemon.ledger.writeApart(() => {
    throw new Error('no');
  });
  const refused = shop.admit(5);
  await expect(failing).rejects.toThrow('no');
  expect((await refused).kind).toBe('blocked');
  await shop.admit(5);
  const counts = (await listRequests(shop.db, { limit: 200 })).map(({ folded }) => folded?.count ?? 1);
  expect(counts).toEqual([2, ...Array(101).fill(1)]);
  expect(eventsOf(shop.db, 'request.blocked')).toHaveLength(102);
});
