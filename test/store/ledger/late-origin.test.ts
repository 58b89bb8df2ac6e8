import { expect, test } from 'vitest';
import type { Origin } from '../../../src/origin.ts';
import { getRequest } from '../../../src/store/requests/request-log.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const REPO = '/home/me/shop';

/** A request that runs, and whose repository is found when the test says so. */
async function running(shop: Shop, amount: number) {
  let tell = () => {};
  const origin: Origin = { process: '', repo: '', search: new Promise((resolve) => (tell = resolve)) };
  const { id } = await shop.admit(amount, { origin });
  return {
    id,
    origin,
    async found() {
      Object.assign(origin, { process: 'agent', repo: REPO, search: undefined });
      tell();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      shop.daemon.ledger.flush();
    },
  };
}

const ofRepo = { period: 'daily', capNanoUsd: 100, repo: REPO } as const;

test('what a running request holds counts in its repository once that is found', async () => {
  const shop = await openShop();
  await shop.budget(ofRepo);
  const { id, origin, found } = await running(shop, 70);
  expect((await shop.standings())[0]).toMatchObject({ pending: 0 });
  await found();
  expect((await shop.standings())[0]).toMatchObject({ pending: 70 });
  expect(await shop.admit(40, { origin })).toMatchObject({ kind: 'wait' });
  await shop.settle(id, 60, { origin });
  expect((await shop.standings())[0]).toMatchObject({ posted: 60, pending: 0 });
  checkDatabase(shop.db);
});

test('and in a budget that is set while it runs', async () => {
  const shop = await openShop();
  const { id, origin, found } = await running(shop, 70);
  await found();
  expect(await shop.budget(ofRepo)).toMatchObject({ pending: 70 });
  await shop.settle(id, 60, { origin });
  expect((await shop.standings())[0]).toMatchObject({ posted: 60, pending: 0 });
  checkDatabase(shop.db);
});

test('a crash loses neither it nor the repository', async () => {
  const shop = await openShop();
  await shop.budget(ofRepo);
  const { id, found } = await running(shop, 70);
  await found();
  expect(await shop.daemon.ledger.closeHolds(0)).toBe(1);
  expect((await shop.standings())[0]).toMatchObject({ posted: 70, pending: 0 });
  expect(await getRequest(shop.db, id)).toMatchObject({ outcome: 'crashed', repo: REPO });
});
