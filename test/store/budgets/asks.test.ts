import { expect, test } from 'vitest';
import { formatAskId } from '../../../src/ids.ts';
import { type Approval, approveAsk, denyAsk, listAsks } from '../../../src/store/budgets/asks.ts';
import type { BudgetSettings } from '../../../src/store/budgets/budgets.ts';
import { registerDaemon } from '../../../src/store/database/daemons.ts';
import { listRunaways } from '../../../src/store/runaways/runaways.ts';
import { NOON } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

const MINUTE = 60_000;
const DAILY = { period: 'daily', capNanoUsd: 100, onLimit: 'ask' } as const;

/** A request that waits for an answer: it needs 60, 40 at least, and its budget has 10 left. */
async function open(settings: Partial<BudgetSettings> = {}, fields: object = {}) {
  const shop = await openShop();
  registerDaemon(shop.db, { instanceId: 'i', pid: process.pid, lockPath: '/none', startedAt: NOON });
  await shop.budget({ ...DAILY, ...settings });
  const of = { session: 's', agent: 'a' };
  const { id: spent } = await shop.admit(90, of);
  await shop.settle(spent, 90, of);
  const asking = { needed: () => 60, expiresAt: () => NOON + MINUTE };
  const { id, kind } = await shop.admit(60, { ...of, ...fields, least: 40, asking });
  expect(kind).toBe('ask');
  const context = () => ({ calendar: shop.calendar, now: shop.clock.now() });
  const name = formatAskId(id as never);
  return {
    shop,
    id,
    name,
    approve: (raiseNanoUsd?: number, more: Partial<Approval> = {}) =>
      approveAsk(shop.db, { id: name, raiseNanoUsd, ...more }, context()),
    deny: () => denyAsk(shop.db, name, shop.clock.now()),
    list: (projectId?: number) => listAsks(shop.db, { projectId, now: shop.clock.now() }),
  };
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'not refused',
    ({ status, code, message }) => `${status} ${code}: ${message}`,
  );

test('a question is listed as long as it is open, for its project, with what it needs', async () => {
  const { shop, id, deny, list } = await open();
  expect(list()).toMatchObject([
    {
      ...{ requestId: id, projectId: 1, projectName: 'p1', budget: 'p1/daily', state: 'open', agent: 'a' },
      ...{
        least: 40,
        needed: 60,
        allowed: null,
        isBudgetRemoved: false,
        parentId: 0,
        expiresAt: NOON + MINUTE,
      },
    },
  ]);
  expect([list(1).length, list(2).length]).toEqual([1, 0]);
  shop.clock.set(NOON + MINUTE - 1);
  expect(list()).toHaveLength(1);
  shop.clock.set(NOON + MINUTE);
  expect(list()).toEqual([]);
  shop.clock.set(NOON);
  shop.db.exec('UPDATE asks SET slot = 1');
  expect(list()).toEqual([]);
  shop.db.exec('UPDATE asks SET slot = 0');
  expect(await deny()).toMatchObject({ state: 'denied', allowed: null });
  expect(list()).toEqual([]);
});

test('an approval allows what is needed, and a raise gives the budget room', async () => {
  const once = await open();
  expect(await once.approve()).toMatchObject({ state: 'approved', allowed: 60 });
  const raised = await open();
  expect(await refusal(raised.approve(29))).toBe(
    `400 invalid_value: a raise of $0.000000029 is too little: the request needs at least $0.000000040, and budget p1/daily has $0.000000010 left. Raise it by $0.000000030 or more: gw approve ${raised.name} --raise AMOUNT`,
  );
  expect(raised.list()).toHaveLength(1);
  expect(await raised.approve(30)).toMatchObject({ state: 'approved', allowed: null });
  expect((await raised.shop.standings())[0]).toMatchObject({ posted: 90, budget: { capNanoUsd: 130 } });
});

test('the caps for each of these are raised together, so one of them is not', async () => {
  const { name, approve } = await open({ scope: { kind: 'each', value: 'session' } });
  expect(await refusal(approve(30))).toContain(`To let this request alone go on: gw approve ${name} --once`);
  expect(await approve()).toMatchObject({ state: 'approved', allowed: 60, budget: 'p1/daily@session:s' });
});

test.each([
  ['approved', 'was approved before'],
  ['denied', 'was denied before'],
  ['ended', 'has ended: its request does not wait any more'],
  ['expired', 'has expired at 2026-05-12T12:01:00.000Z'],
])('a question that is %s takes no answer', async (state, message) => {
  const { shop, name, approve, deny } = await open();
  shop.db.prepare('UPDATE asks SET state = ?').run(state);
  for (const answer of [approve, deny])
    expect(await refusal(answer())).toContain(`409 ask_closed: ${name} ${message}`);
});

test('an open question takes no answer once it has expired, its daemon is gone or the budget has room', async () => {
  const late = await open();
  late.shop.clock.set(NOON + MINUTE);
  expect(await refusal(late.deny())).toContain('has expired at');
  late.shop.clock.set(NOON + MINUTE - 1);
  expect(await late.deny()).toMatchObject({ state: 'denied' });
  const gone = await open();
  gone.shop.db.exec('DELETE FROM daemons');
  expect(await refusal(gone.approve())).toContain(
    'the gw that its request waited at is not running any more',
  );
  const removed = await open();
  await removed.shop.removeBudget('daily');
  expect(await refusal(removed.approve())).toContain('budget p1/daily was removed');
  const roomy = await open();
  await roomy.shop.budget({ ...DAILY, capNanoUsd: 129 });
  expect(await roomy.approve()).toMatchObject({ state: 'approved' });
  const roomier = await open();
  await roomier.shop.budget({ ...DAILY, capNanoUsd: 130 });
  expect(await refusal(roomier.approve())).toContain('has $0.000000040 left by now');
  for (const id of ['ask_00000000000', 'x', ''])
    expect(await refusal(roomier.approve(undefined, { id }))).toBe(
      `404 ask_not_found: no question "${id}". See: gw asks`,
    );
});

test('an approved session is taken for a runaway no more, whatever room its budget has', async () => {
  const { shop, approve, list } = await open(
    { capNanoUsd: 1_000, onLimit: 'block', runaway: 'ask' },
    { runaway: () => 'it repeats' },
  );
  expect(list()).toMatchObject([{ runaway: 'it repeats', session: 's' }]);
  shop.db.prepare('UPDATE sessions SET runaway = \'{"reason":"repeats"}\', runaway_at = ?').run(NOON);
  expect(listRunaways(shop.db, { now: NOON })).toHaveLength(1);
  expect(await approve()).toMatchObject({ state: 'approved', allowed: 60 });
  expect(listRunaways(shop.db, { now: NOON })).toEqual([]);
});
