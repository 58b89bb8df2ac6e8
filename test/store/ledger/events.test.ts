import { expect, test } from 'vitest';
import { createEvents } from '../../../src/store/ledger/events.ts';
import { countedRandom, eventsOf } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

const LONGEST = 500;

/** The data of an event as it is stored. */
async function stored(data: Record<string, unknown>) {
  const { db } = await openShop();
  const sequence = createEvents(db, () => 7, countedRandom('events'))('budget.exceeded', 2, data);
  const row = db.prepare('SELECT sequence, type, project_id, created_at FROM events').raw().all();
  expect(row).toEqual([[sequence, 'budget.exceeded', 2, 7]]);
  return eventsOf(db)[0]?.data;
}

test('an event keeps texts of up to 500 characters, and their beginning beyond that', async () => {
  for (const length of [0, 1, LONGEST - 1, LONGEST]) {
    const data = { model: 'm'.repeat(length), n: 5 };
    expect(await stored(data)).toEqual(data);
  }
  const long = { model: 'm'.repeat(LONGEST + 1), n: 5, list: ['x'.repeat(2 * LONGEST), true, null] };
  expect(await stored(long)).toEqual({
    model: 'm'.repeat(LONGEST),
    n: 5,
    list: ['x'.repeat(LONGEST), true, null],
  });
});

test('an event is not cut through a character', async () => {
  const before = 'm'.repeat(LONGEST - 1);
  expect(await stored({ model: `${before}😀` })).toEqual({ model: before });
  expect(await stored({ model: `${before.slice(1)}😀x` })).toEqual({ model: `${before.slice(1)}😀` });
});
