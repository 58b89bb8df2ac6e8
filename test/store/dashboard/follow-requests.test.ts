import { expect, test } from 'vitest';
import { createRequestFollower } from '../../../src/store/dashboard/follow-requests.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  fileDatabase,
  NOON,
  openFast,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

test('a follower hands out each request once, when it ends, however long it took', async () => {
  const path = await fileDatabase();
  const db = await openFast(path);
  addProjects(db, 1);
  const world = createWorld();
  const { clock } = world;
  const { ledger, nextId } = startDaemon(db, world, 0);
  const before = nextId();
  await ledger.record(recordOf(before));
  const slow = nextId();
  await ledger.admit(admissionOf(slow, 5));

  const follower = createRequestFollower(await openDatabase(path, { readonly: true }), clock.now());
  const ids = async () => (await follower.next(clock.now())).map(({ id }) => id);
  expect(await ids()).toEqual([]);

  clock.set(NOON + 1_000);
  const quick = nextId();
  await ledger.record(recordOf(quick));
  expect(await ids()).toEqual([quick]);
  expect(await ids()).toEqual([]);

  // Its id is far behind all that was handed out since.
  clock.set(NOON + 30 * 60_000);
  const later = nextId();
  await ledger.record(recordOf(later));
  expect(await ids()).toEqual([later]);
  await ledger.settle(recordOf(slow));
  expect(await ids()).toEqual([slow]);
  clock.set(NOON + 31 * 60_000);
  await ledger.record(recordOf(nextId()));
  expect(await ids()).toHaveLength(1);
});
