import { describe, expect, test } from 'vitest';
import { type BudgetSettings, listBudgets, setBudget } from '../../../src/store/budgets/budgets.ts';
import { getOwner } from '../../../src/store/budgets/owner.ts';
import {
  projectsWithClientBudgets,
  projectsWithFallbacks,
  projectsWithRepoBudgets,
} from '../../../src/store/budgets/projects-with.ts';
import { createLedger } from '../../../src/store/ledger/ledger.ts';
import { budgetName } from '../../../src/store/ledger/terms.ts';
import { createTeamLimits } from '../../../src/store/team/limits.ts';
import { addMembership } from '../../../src/store/team/membership.ts';
import { applyTeamBudgets } from '../../../src/store/team/team-budgets.ts';
import { MEMBERSHIP } from '../../support/membership.ts';
import { admissionOf, eventsOf, NOON, readmissionOf, recordOf } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const DAY = 86_400_000;
const DAILY = { period: 'daily', capNanoUsd: 100 } as const;

async function share(shop: Shop, projects: string, settings: Partial<BudgetSettings> = {}) {
  const context = { calendar: shop.calendar, now: shop.clock.now() };
  return setBudget(shop.db, await getOwner(shop.db, projects), { ...DAILY, ...settings }, context);
}

const spentOf = async (shop: Shop) =>
  (await shop.standings()).map(({ budget, posted, pending }) => `${budgetName(budget)} ${posted} ${pending}`);

describe('a budget of several projects', () => {
  test('counts the requests of each, and is one account', async () => {
    const shop = await openShop();
    await shop.budget({ ...DAILY, capNanoUsd: 500 });
    await share(shop, 'p1,p2');
    const first = await shop.admit(60);
    expect(await shop.admit(40, { projectId: 2 })).toMatchObject({ kind: 'held', remaining: 0 });
    expect(await shop.admit(1, { projectId: 2 })).toMatchObject({ kind: 'wait' });
    await shop.settle(first.id, 50);
    expect(await shop.admit(10, { projectId: 2 })).toMatchObject({ kind: 'held', remaining: 0 });
    expect(await spentOf(shop)).toEqual(['p1/daily 50 0', 'p1,p2/daily 50 50']);
    const all = await listBudgets(shop.db, [1, 2], { calendar: shop.calendar, now: NOON });
    expect(all.map(({ budget }) => budgetName(budget))).toEqual(['p1/daily', 'p1,p2/daily']);
  });

  test('announces to its first project, and to each that has a webhook', async () => {
    const shop = await openShop();
    shop.db.exec("INSERT INTO projects (name, plan, created_at) VALUES ('p3', 'pro', 0)");
    shop.db.exec(`INSERT INTO webhook_endpoints (project_id, url, format, events, secret, created_at)
      SELECT id, 'https://x.test/', 'json', 31, 's', 0 FROM projects WHERE id > 1`);
    await share(shop, 'p1,p2');
    const { id } = await shop.admit(80, { projectId: 2 });
    await shop.settle(id, 80, { projectId: 2 });
    expect(eventsOf(shop.db).map(({ type, projectId }) => `${type} ${projectId}`)).toEqual([
      'budget.threshold_reached 1',
      'budget.threshold_reached 2',
    ]);
  });

  test('for each session stands beside that of one project alone', async () => {
    const shop = await openShop();
    const each = { scope: { kind: 'each', value: 'session' } } as const;
    const own = { scope: { kind: 'session', value: 's' } } as const;
    await share(shop, '@all', each);
    await shop.budget({ ...DAILY, ...each });
    await shop.budget({ ...DAILY, capNanoUsd: 300, ...own });
    const { id } = await shop.admit(70, { session: 's' });
    await shop.settle(id, 70, { session: 's' });
    expect(await shop.admit(40, { session: 's' })).toMatchObject({
      kind: 'blocked',
      standing: { budget: { capNanoUsd: 100, projects: '*' } },
    });
    await share(shop, '@all', { capNanoUsd: 200, ...own });
    expect((await shop.admit(40, { session: 's' })).kind).toBe('held');
  });

  test('is found among the projects with budgets of its kind', async () => {
    const shop = await openShop();
    const found = () =>
      [projectsWithClientBudgets, projectsWithFallbacks, projectsWithRepoBudgets].map((projects) => [
        ...projects(shop.db),
      ]);
    await shop.budget(DAILY);
    await shop.budget({ ...DAILY, scope: { kind: 'each', value: 'key' } });
    expect(found()).toEqual([[], [], []]);
    await share(shop, 'p1,p2', { scope: { kind: 'agent', value: 'a' } });
    await shop.budget({ ...DAILY, onLimit: 'fallback', fallback: 'a/b' });
    await shop.budget({ ...DAILY, repo: 'r' });
    expect(found()).toEqual([[1, 2], [1], [1]]);
  });
});

describe('a budget of a provider', () => {
  const of = (value: string) => ({ scope: { kind: 'provider', value } }) as const;
  const again = (shop: Shop, id: number, spent: number, provider: string, more: object = {}) =>
    shop.daemon.ledger.readmit(readmissionOf(id, 40, { provider, spent, ...more }));

  test('books what a request cost there when it goes on elsewhere, and tells so', async () => {
    const shop = await openShop();
    await shop.budget({ ...DAILY, capNanoUsd: 1_000 });
    await shop.budget({ ...DAILY, ...of('openai') });
    await shop.budget({ ...DAILY, ...of('other') });
    const { id } = await shop.admit(90);
    expect(await again(shop, id, 85, 'other')).toMatchObject({ kind: 'held', remaining: 60 });
    expect(shop.news()).toEqual(['budget.threshold_reached']);
    const held = ['p1/daily 0 125', 'p1/daily@provider:openai 85 0', 'p1/daily@provider:other 0 40'];
    expect(await spentOf(shop)).toEqual(held);
    await shop.settle(id, 115, { provider: 'other' });
    expect(await spentOf(shop)).toEqual([
      'p1/daily 115 0',
      'p1/daily@provider:openai 85 0',
      'p1/daily@provider:other 30 0',
    ]);
  });

  test('refuses what has no room there without a word while running requests hold it', async () => {
    const shop = await openShop();
    await shop.budget({ ...DAILY, ...of('other') });
    await shop.admit(70, { provider: 'other' });
    const { id } = await shop.admit(90);
    expect(await again(shop, id, 85, 'other', { least: 31 })).toMatchObject({ kind: 'refused' });
    expect(shop.news()).toEqual([]);
    expect(await again(shop, id, 85, 'other', { least: 101 })).toMatchObject({ kind: 'refused' });
    expect(eventsOf(shop.db)).toMatchObject([
      { type: 'request.blocked', data: { spent_usd: 0, cap_usd: 1e-7 } },
    ]);
  });

  test('is left with nothing where the attempt cost nothing', async () => {
    const shop = await openShop();
    await shop.budget({ ...DAILY, ...of('openai') });
    const { id } = await shop.admit(90);
    expect(await again(shop, id, 0, 'other')).toMatchObject({ kind: 'held', remaining: null });
    expect(await spentOf(shop)).toEqual(['p1/daily@provider:openai 0 0']);
    expect(shop.news()).toEqual([]);
  });
});

test("a ledger reports what requests of a team's budget hold and cost, and nothing of others", async () => {
  const shop = await openShop();
  const log: unknown[][] = [];
  const start = NOON - (NOON % DAY);
  addMembership(shop.db, { ...MEMBERSHIP, joinedAt: NOON });
  applyTeamBudgets(
    shop.db,
    [
      {
        ...{ id: 11, project: 'p1', period: 'daily', capNanoUsd: 1_000, alertPercents: [80] },
        ...{ start, ends: start + DAY, allocatedNanoUsd: 0, spentNanoUsd: 0 },
      } as never,
    ],
    { now: NOON, version: 1 },
  );
  createTeamLimits(shop.db).set([{ budgetId: 11, start, limit: 100 }]);
  const ledger = createLedger({
    ...{ db: shop.db, clock: shop.clock, calendar: () => shop.calendar, slot: 0 },
    team: {
      now: () => NOON,
      asked: (...args) => log.push(['asked', ...args]),
      short: (...args) => log.push(['short', ...args]),
      refused: (...args) => log.push(['refused', ...args]),
      spent: (...args) => log.push(['spent', ...args]),
    },
  });
  const request = async (amount: number, cost: number, projectId = 1) => {
    const id = shop.daemon.nextId();
    const { kind } = await ledger.admit(admissionOf(id, amount, { projectId }));
    if (kind === 'held') await ledger.settle(recordOf(id, { costNanoUsd: cost, projectId }));
    log.push([kind]);
  };
  await request(60, 50);
  await request(40, 0);
  await request(40, 30, 2);
  await request(60, 50);
  const [{ budget } = { budget: { id: 0 } }] = await ledger.standings(1);
  expect(log).toEqual([
    ['asked', budget.id, 60, 40],
    ['spent', budget.id, 50],
    ['held'],
    ['asked', budget.id, 40, 10],
    ['held'],
    ['held'],
    ['short', budget.id, 60],
    ['wait'],
  ]);
  expect(eventsOf(shop.db)).toEqual([]);
});
