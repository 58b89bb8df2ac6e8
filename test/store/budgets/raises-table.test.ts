import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import type { BudgetSettings } from '../../../src/store/budgets/budgets.ts';
import { type Raise, raiseBudget } from '../../../src/store/budgets/raise-budget.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';
import { eventsOf, NOON } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });

const raise = (shop: Shop, fields: Partial<Raise>) =>
  raiseBudget(
    shop.db,
    { budget: 'p1/daily', amountNanoUsd: 50, ...fields },
    { calendar: shop.calendar, now: shop.clock.now() },
  );

type Terms = Pick<BudgetSettings, 'alertPercents'>;

/** The same budget in the ways in which balances are kept. */
const BUDGETS: Record<string, (terms: Terms) => BudgetSettings> = {
  'p1/daily': (terms) => ({ ...terms, period: 'daily', capNanoUsd: 100 }),
  'p1/rolling': (terms) => ({ ...terms, period: 'rolling', windowMs: HOUR, capNanoUsd: 100 }),
  'p1/daily@each:session': (terms) => ({
    ...terms,
    ...{ period: 'daily', capNanoUsd: 100, scope: { kind: 'each', value: 'session' } },
  }),
};

/** What is done to a cap of which something is spent. */
const CHANGES: Record<string, (shop: Shop, budget: string, settings: BudgetSettings) => Promise<unknown>> = {
  'raised for half an hour': (shop, budget) => raise(shop, { budget, forMs: HOUR / 2 }),
  'raised for good': (shop, budget) => raise(shop, { budget }),
  'raised twice': async (shop, budget) => {
    await raise(shop, { budget, forMs: HOUR / 2, amountNanoUsd: 30 });
    await raise(shop, { budget, forMs: HOUR / 3, amountNanoUsd: 40 });
  },
  'set again': (shop, _, settings) => shop.budget(settings),
  'set higher': (shop, _, settings) => shop.budget({ ...settings, capNanoUsd: 110 }),
  'set lower': (shop, _, settings) => shop.budget({ ...settings, capNanoUsd: 50 }),
  'given another alert': (shop, _, settings) => shop.budget({ ...settings, alertPercents: [70] }),
  'given more alerts': (shop, _, settings) => shop.budget({ ...settings, alertPercents: [50, 95] }),
};

/** A cap that is changed between two costs, and 40 minutes later: what is spent of it, and what was announced. */
async function story(budget: string, terms: Terms, change: string, spent: number) {
  const settings = (BUDGETS[budget] as (terms: Terms) => BudgetSettings)(terms);
  const shop = await openShop();
  const log: string[] = [];
  let seen = 0;
  const note = async () => {
    const [standing] = await shop.standings();
    const news = eventsOf(shop.db).slice(seen);
    seen += news.length;
    const told = news.map(({ type, data }) =>
      type === 'budget.threshold_reached' ? ` ! ${data.alert_percent} %` : ` ! ${type}`,
    );
    log.push(`${standing?.posted} of ${standing?.budget.capNanoUsd}${told.join('')}`);
  };
  const spend = async (amount: number) => {
    const { id, kind } = await shop.admit(amount, {
      session: 's',
      least: 1,
      fitInto: (room) => (room > 0 ? { amount: room } : undefined),
    });
    if (kind === 'held') await shop.settle(id, amount, { session: 's' });
    await note();
  };
  await shop.budget(settings);
  await spend(spent);
  await CHANGES[change]?.(shop, budget, settings);
  await note();
  await spend(10);
  shop.clock.set(NOON + 40 * MINUTE);
  await note();
  await spend(5);
  return log.join(', ');
}

describe('a cap that is changed', () => {
  const alerts: Record<string, Terms> = {
    'one alert': {},
    'three alerts': { alertPercents: [40, 60, 90] },
  };
  const changed = Object.keys(CHANGES).flatMap((change) => [45, 85, 100].map((spent) => ({ change, spent })));

  test('announces what it had not announced', async () => {
    const rows = Object.entries(alerts).map(([name, terms]) => ({
      name,
      outcome: () => story('p1/daily', terms, 'set again', 85),
      variations: changed.map(({ change, spent }) =>
        row(`${change} after ${spent}`, () => story('p1/daily', terms, change, spent)),
      ),
    }));
    await expectFrozen(import.meta.dirname, 'changed-caps', rows);
  });

  test.each(['p1/rolling', 'p1/daily@each:session'])('announces the same as %s', async (budget) => {
    for (const [name, terms] of Object.entries(alerts))
      for (const { change, spent } of changed) {
        const daily = await story('p1/daily', terms, change, spent);
        expect([name, change, spent, await story(budget, terms, change, spent)]).toEqual([
          name,
          change,
          spent,
          daily,
        ]);
      }
  });
});

test('which raises are refused', async () => {
  const raises: Partial<Raise>[] = [
    ...[1, 0, -1, 0.5, 1e15 - 100, 1e15 - 99].map((amountNanoUsd) => ({ amountNanoUsd })),
    ...[MINUTE - 1, MINUTE, 366 * DAY, 366 * DAY + 1].map((forMs) => ({ forMs })),
    ...[
      'p1/weekly',
      'p3/daily',
      'team/daily',
      '@team/daily',
      'p1@team/daily',
      '@all/daily',
      'p1,p2/daily',
    ].map((budget) => ({ budget })),
  ];
  const refusal = async (shop: Shop, fields: Partial<Raise>) => {
    try {
      const { budget } = await raise(shop, fields);
      return `${budget.capNanoUsd} ${budget.raisedNanoUsd}`;
    } catch (error) {
      return error instanceof GwError ? `${error.status} ${error.param}: ${error.message}` : error;
    }
  };
  const open = async (prepare?: (shop: Shop) => unknown) => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await prepare?.(shop);
    return shop;
  };
  const nameTeam = (shop: Shop) => shop.db.prepare("UPDATE projects SET name = 'team' WHERE id = 2").run();
  await expectFrozen(import.meta.dirname, 'refused-raises', [
    ...raises.map((fields) => row(JSON.stringify(fields), async () => refusal(await open(), fields))),
    ...['team/daily', '@team/daily', 'p1@team/daily'].map((budget) =>
      row(`${budget}, beside a project named team`, async () => refusal(await open(nameTeam), { budget })),
    ),
  ]);
});
