import { describe, expect, test } from 'vitest';
import { insertKey, revokeKey } from '../../../src/store/accounts/keys.ts';
import { getProject } from '../../../src/store/accounts/projects.ts';
import { type BudgetSettings, removeBudget, setBudget } from '../../../src/store/budgets/budgets.ts';
import {
  distrustBound,
  readDistrustedBounds,
  trustBounds,
} from '../../../src/store/budgets/distrusted-bounds.ts';
import { countedProjects, getOwner, isSeveral } from '../../../src/store/budgets/owner.ts';
import { budgetName } from '../../../src/store/ledger/terms.ts';
import { NOON } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const DAILY = { period: 'daily', capNanoUsd: 100 } as const;

/** The message of a refusal. */
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'not refused',
    (error: Error) => error.message,
  );

test('terms that a change does not name stay, and a new list of models begins at the limit again', async () => {
  const shop = await openShop();
  const terms = async (settings: Partial<BudgetSettings>) => {
    const { budget } = await shop.budget({ ...DAILY, ...settings });
    const { onLimit, fallback, fallbackPercent, runaway, alertPercent, alertPercents, capVersion } = budget;
    return [onLimit, fallback, fallbackPercent, runaway, alertPercent, alertPercents, capVersion];
  };
  expect(await terms({})).toEqual(['block', '', 100, 'alert', 80, '', 1]);
  expect(await terms({ onLimit: 'fallback', fallback: 'a/b', fallbackPercent: 70, runaway: 'ask' })).toEqual([
    'fallback',
    'a/b',
    70,
    'ask',
    80,
    '',
    1,
  ]);
  expect(await terms({ alertPercents: [90, 50, 90] })).toEqual([
    'fallback',
    'a/b',
    70,
    'ask',
    50,
    '[50,90]',
    2,
  ]);
  expect(await terms({ fallback: 'c/d' })).toEqual(['fallback', 'c/d', 70, 'ask', 50, '[50,90]', 2]);
  expect(await terms({ onLimit: 'fallback', fallback: 'e/f' })).toEqual([
    'fallback',
    'e/f',
    100,
    'ask',
    50,
    '[50,90]',
    2,
  ]);
  expect(await terms({ alertPercent: 60 })).toEqual(['fallback', 'e/f', 100, 'ask', 60, '', 3]);
  expect(await terms({ onLimit: 'ask', runaway: 'block' })).toEqual(['ask', '', 100, 'block', 60, '', 3]);
  expect(await terms({ capNanoUsd: 101 })).toEqual(['ask', '', 100, 'block', 60, '', 4]);
  expect(await refusal(terms({ onLimit: 'fallback' }))).toContain('name the cheaper models');
});

describe('the projects of a budget', () => {
  test.each([
    ['p1', { id: 1, name: 'p1' }, [1]],
    ['p1,p1', { id: 1, name: 'p1' }, [1]],
    ['p2,p1', { id: 1, name: 'p1,p2', projects: '[1,2]' }, [1, 2]],
    [' p2 , p1 ', { id: 1, name: 'p1,p2', projects: '[1,2]' }, [1, 2]],
    ['@all', { id: 1, name: '@all', projects: '*' }, undefined],
  ])('%j', async (text, owner, counted) => {
    const { db } = await openShop();
    db.exec('UPDATE projects SET created_at = 10 - id');
    const found = await getOwner(db, text);
    expect([found, countedProjects(found)]).toMatchObject([owner, counted]);
    expect([isSeveral(text), found.createdAt]).toEqual([
      text !== 'p1',
      text.includes('2') || text === '@all' ? 8 : 9,
    ]);
  });

  test.each([
    ['p3', 'no project "p3"'],
    ['p1,p3', 'no project "p3"'],
    ['p1,', 'has an empty name'],
    [',', 'has an empty name'],
  ])('%j: %s', async (text, message) => {
    const { db } = await openShop();
    expect(await refusal(getOwner(db, text))).toContain(message);
  });
});

test('a key is named by its label, unless others have that too or it reads as an id', async () => {
  const shop = await openShop();
  const key = (label: string | null, projectId = 1) => insertKey(shop.db, { projectId, label, now: NOON }).id;
  const [only, first, second, third, numbered, unnamed] = [
    key('only'),
    key('shared'),
    key('shared'),
    key('shared', 2),
    key('77'),
    key(null),
  ];
  const named = async (value: string | number) => {
    const { budget } = await shop.budget({ ...DAILY, scope: { kind: 'key', value: String(value) } });
    return [budgetName(budget), budget.keyId];
  };
  expect(await named('only')).toEqual(['p1/daily@key:only', only]);
  expect(await named(only)).toEqual(['p1/daily@key:only', only]);
  expect(await named('shared')).toEqual([`p1/daily@key:${second}`, second]);
  expect(await named(first)).toEqual([`p1/daily@key:${first}`, first]);
  expect(await named('77')).toEqual([`p1/daily@key:${numbered}`, numbered]);
  expect(await named(unnamed)).toEqual([`p1/daily@key:${unnamed}`, unnamed]);
  expect(await refusal(named(third))).toContain(`project p1 has no key "${third}"`);
  await revokeKey(shop.db, second, NOON);
  const weekly = await shop.budget({ ...DAILY, period: 'weekly', scope: { kind: 'key', value: 'shared' } });
  expect([budgetName(weekly.budget), weekly.budget.keyId]).toEqual(['p1/weekly@key:shared', first]);
  const several = await getOwner(shop.db, 'p1,p2');
  const scope = { kind: 'key', value: 'only' } as const;
  const context = { calendar: shop.calendar, now: NOON };
  expect(await refusal(setBudget(shop.db, several, { ...DAILY, scope }, context))).toContain(
    'leave out the others of p1,p2',
  );
});

/** Spends 1, 2, 4 and 8 before 12:30, and puts their records into the archive. */
async function spentBefore(): Promise<Shop> {
  const shop = await openShop();
  for (const [at, amount] of [
    [NOON - 2 * HOUR + 10 * MINUTE, 1],
    [NOON - 2 * HOUR + 30 * MINUTE - 1, 2],
    [NOON - 2 * HOUR + 30 * MINUTE, 4],
    [NOON - HOUR, 8],
  ] as const) {
    shop.clock.set(at);
    await shop.spend(amount);
  }
  shop.clock.set(NOON + 30 * MINUTE);
  await shop.daemon.takeOver();
  while (await shop.daemon.sumNextHour(NOON));
  return shop;
}

describe('a new rate', () => {
  const settings = { period: 'rolling', windowMs: 2 * HOUR, capNanoUsd: 100 } as const;

  test('counts what was spent in its window', async () => {
    const shop = await spentBefore();
    expect((await shop.budget(settings)).posted).toBe(12);
    expect((await shop.budget({ ...settings, repo: 'r' })).posted).toBe(0);
    expect((await shop.budget({ period: 'lifetime', capNanoUsd: 100 })).posted).toBe(15);
  });

  test('counts the whole hour in which its window begins if records of that hour may be gone', async () => {
    const shop = await spentBefore();
    shop.db.prepare('DELETE FROM requests WHERE id = (SELECT min(id) FROM requests)').run();
    shop.db.prepare('DELETE FROM requests WHERE id = (SELECT min(id) FROM requests)').run();
    expect((await shop.budget({ ...settings, windowMs: 2 * HOUR + 1 })).posted).toBe(15);
  });
});

test('a bound is distrusted for 30 days, or until all are trusted again', async () => {
  const { db } = await openShop();
  const bound = { provider: 'openai', model: 'gpt-5', bound: 'bytes', at: NOON, requestId: 1 };
  distrustBound(db, bound);
  distrustBound(db, { ...bound, bound: 'exact', at: NOON + 1 });
  distrustBound(db, { ...bound, bound: 'exact', at: NOON + 2 });
  const off = (now: number) => readDistrustedBounds(db, now).map((each) => [each.bound, each.at - NOON]);
  expect(off(NOON + 30 * DAY - 1)).toEqual([
    ['exact', 2],
    ['bytes', 0],
  ]);
  expect(off(NOON + 30 * DAY)).toEqual([['exact', 2]]);
  expect(off(NOON + 30 * DAY + 2)).toEqual([]);
  expect([await trustBounds(db), off(NOON), await trustBounds(db)]).toEqual([2, [], 0]);
});

test('a removed budget of a key or a session becomes a member of the cap for each of them again', async () => {
  const shop = await openShop();
  const keyId = insertKey(shop.db, { projectId: 1, label: 'ci', now: NOON }).id;
  const each = { kind: 'each', value: 'key' } as const;
  const own = { kind: 'key', value: 'ci' } as const;
  await shop.budget({ ...DAILY, scope: each });
  const { id } = await shop.admit(70, { keyId });
  await shop.settle(id, 70, { keyId });
  await shop.budget({ ...DAILY, capNanoUsd: 200, scope: own });
  expect((await shop.admit(90, { keyId })).kind).toBe('held');
  const project = await getProject(shop.db, 'p1');
  await removeBudget(shop.db, project, { period: 'daily', scope: own }, NOON);
  expect(await shop.admit(40, { keyId })).toMatchObject({
    kind: 'blocked',
    standing: {
      posted: 70,
      pending: 90,
      budget: { capNanoUsd: 100, parentId: 1, scopeValue: String(keyId) },
    },
  });
  await removeBudget(shop.db, project, { period: 'daily', scope: each }, NOON);
  expect(await shop.admit(40, { keyId })).toMatchObject({ kind: 'held', remaining: null });
});

test('a new cap for each begins with the spend of those that have no cap of their own, and with nobody else', async () => {
  const shop = await openShop();
  const keyOf = (label: string) => insertKey(shop.db, { projectId: 1, label, now: NOON }).id;
  const own = keyOf('own');
  const other = keyOf('other');
  for (const [keyId, session] of [
    [0, undefined],
    [own, 's'],
    [other, 't'],
  ] as const) {
    const { id } = await shop.admit(20, { keyId, session });
    await shop.settle(id, 20, { keyId, session });
  }
  await shop.budget({ ...DAILY, scope: { kind: 'key', value: 'own' } });
  await shop.budget({ ...DAILY, scope: { kind: 'session', value: 's' } });
  for (const value of ['key', 'session']) await shop.budget({ ...DAILY, scope: { kind: 'each', value } });
  const members = shop.db.prepare('SELECT scope_kind, scope_value FROM budgets WHERE parent_id <> 0');
  expect(members.raw().all()).toEqual([
    ['key', String(other)],
    ['session', 't'],
  ]);
});
