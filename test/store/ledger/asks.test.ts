import { expect, test } from 'vitest';
import { startDaemon } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

test('the questions of a daemon that died end with it, and those of others stay open', async () => {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 10, onLimit: 'ask' });
  const asking = { needed: () => 30, expiresAt: () => shop.clock.now() + 60_000 };
  const { id, kind } = await shop.admit(30, { asking });
  const other = startDaemon(shop.db, shop, 1);
  const states = () => shop.db.prepare('SELECT request_id, state FROM asks').raw().all();
  expect([kind, states()]).toEqual(['ask', [[id, 'open']]]);
  await other.ledger.closeHolds(1);
  expect(states()).toEqual([[id, 'open']]);
  await other.ledger.closeHolds(0);
  expect(states()).toEqual([[id, 'ended']]);
});
