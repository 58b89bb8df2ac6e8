import { expect, test } from 'vitest';
import type { Origin } from '../../../src/origin.ts';
import { getRequest } from '../../../src/store/requests/request-log.ts';
import { admissionOf, readmissionOf, recordOf } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const REPO = '/home/me/shop';
const CALLER = { process: 'agent', repo: REPO };

/** A caller that isn't known until the test says so. */
function lateCaller(shop: Shop) {
  let end = () => {};
  const origin: Origin = { process: '', repo: '', search: new Promise((resolve) => (end = resolve)) };
  return {
    origin,
    async found(caller: Partial<typeof CALLER> = CALLER) {
      Object.assign(origin, caller, { search: undefined });
      end();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      shop.daemon.ledger.flush();
    },
  };
}

const ofRepo = { period: 'daily', capNanoUsd: 100, repo: REPO } as const;

test('a repository that is found while a request runs goes on its record and in no budget', async () => {
  const shop = await openShop();
  await shop.budget(ofRepo);
  const { origin, found } = lateCaller(shop);
  const { id } = await shop.admit(70, { origin });
  await found();
  expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 0 });
  await shop.settle(id, 60, { origin });
  expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 0 });
  expect(await getRequest(shop.db, id)).toMatchObject(CALLER);
  checkDatabase(shop.db);
});

test('the next attempt of the request is counted there', async () => {
  const shop = await openShop();
  await shop.budget(ofRepo);
  const { origin, found } = lateCaller(shop);
  const { id, ...first } = await shop.admit(70, { origin });
  expect(first).toMatchObject({ kind: 'held' });
  await found();
  const next = readmissionOf(id, 50, { origin, spent: 10 });
  expect(await shop.daemon.ledger.readmit(next)).toMatchObject({ kind: 'held' });
  expect((await shop.standings())[0]).toMatchObject({ pending: 60 });
  await shop.settle(id, 60, { origin });
  expect((await shop.standings())[0]).toMatchObject({ posted: 60, pending: 0 });
  checkDatabase(shop.db);
});

test('a budget that is set later counts the record, whenever its repository was found', async () => {
  const shop = await openShop();
  const { origin, found } = lateCaller(shop);
  const { id } = await shop.admit(70, { origin });
  await shop.settle(id, 60, { origin });
  expect(await getRequest(shop.db, id)).toMatchObject({ process: '', repo: '' });
  await found();
  expect(await getRequest(shop.db, id)).toMatchObject(CALLER);
  expect(await shop.budget(ofRepo)).toMatchObject({ posted: 60, pending: 0 });
  checkDatabase(shop.db);
});

test('records of requests that were blocked or never admitted get their caller too', async () => {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 10 });
  const { origin, found } = lateCaller(shop);
  const unheld = shop.daemon.nextId();
  await shop.daemon.ledger.record(recordOf(unheld, { outcome: 'refused', status: 503, origin }));
  const id = shop.daemon.nextId();
  const blockedRecord = () => recordOf(id, { status: 402, outcome: 'blocked', origin });
  const result = await shop.daemon.ledger.admit(admissionOf(id, 70, { origin, blockedRecord }));
  expect(result).toMatchObject({ kind: 'blocked' });
  await found();
  for (const request of [unheld, id]) expect(await getRequest(shop.db, request)).toMatchObject(CALLER);
  checkDatabase(shop.db);
});

test('a search that finds nobody, and one that ends after a crash, leave the record as it is', async () => {
  const shop = await openShop();
  const nobody = lateCaller(shop);
  const first = await shop.admit(70, { origin: nobody.origin });
  await shop.settle(first.id, 60, { origin: nobody.origin });
  await nobody.found({});
  const crashed = lateCaller(shop);
  const second = await shop.admit(70, { origin: crashed.origin });
  expect(await shop.daemon.ledger.closeHolds(0)).toBe(1);
  await crashed.found();
  // Its own settlement comes too late: another record stands.
  await shop.settle(second.id, 60, { origin: crashed.origin });
  for (const { id } of [first, second])
    expect(await getRequest(shop.db, id)).toMatchObject({ process: '', repo: '' });
  checkDatabase(shop.db);
});
