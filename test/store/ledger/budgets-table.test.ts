import { test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { GwError } from '../../../src/errors.ts';
import { budgetResponse } from '../../../src/store/budgets/budget-response.ts';
import { type BudgetSettings, checkTerms } from '../../../src/store/budgets/budgets.ts';
import { describeExcess } from '../../../src/store/budgets/distrusted-bounds.ts';
import {
  distinct,
  exhausted,
  isAlerted,
  isoTime,
  isSpentFor,
  leftOf,
  type Standing,
  shortOfTeam,
} from '../../../src/store/ledger/standing.ts';
import {
  alertsOf,
  type BudgetTerms,
  boundariesBetween,
  budgetLabel,
  budgetName,
  countsRequest,
  isEachKind,
  isFallen,
  matchesModel,
  memberValue,
  runningPeriod,
  targetName,
  teamBudgetOf,
  teamBudgetText,
  thresholdOf,
} from '../../../src/store/ledger/terms.ts';
import { DAILY_TERMS } from '../../support/budget-terms.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';
import { eventsOf, NOON } from '../../support/simulator.ts';
import { openShop } from '../../support/simulator-shop.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });

/** Budgets that are set before a story of requests begins. */
const SET: Record<string, BudgetSettings[]> = {
  'by day': [{ period: 'daily', capNanoUsd: 100 }],
  'by week': [{ period: 'weekly', capNanoUsd: 100 }],
  'by month': [{ period: 'monthly', capNanoUsd: 100 }],
  'for good': [{ period: 'lifetime', capNanoUsd: 100 }],
  'by hour': [{ period: 'rolling', windowMs: HOUR, capNanoUsd: 100 }],
  'by ten minutes': [{ period: 'rolling', windowMs: 10 * MINUTE, capNanoUsd: 100 }],
  'with three alerts': [{ period: 'daily', capNanoUsd: 100, alertPercents: [90, 50, 100] }],
  'with three alerts by hour': [
    { period: 'rolling', windowMs: HOUR, capNanoUsd: 100, alertPercents: [20, 50] },
  ],
  'of nothing': [{ period: 'daily', capNanoUsd: 0 }],
  'of a repository': [{ period: 'daily', capNanoUsd: 100, repo: 'r' }],
  'of a session': [{ period: 'daily', capNanoUsd: 100, scope: { kind: 'session', value: 's' } }],
  'of another agent': [{ period: 'daily', capNanoUsd: 100, scope: { kind: 'agent', value: 'b' } }],
  'of a model': [{ period: 'daily', capNanoUsd: 100, scope: { kind: 'model', value: 'openai/gpt-5*' } }],
  'for each session': [{ period: 'daily', capNanoUsd: 60, scope: { kind: 'each', value: 'session' } }],
  'for each session by hour': [
    { period: 'rolling', windowMs: HOUR, capNanoUsd: 60, scope: { kind: 'each', value: 'session' } },
  ],
  'for each session, and one of its own': [
    { period: 'daily', capNanoUsd: 60, scope: { kind: 'each', value: 'session' } },
    { period: 'daily', capNanoUsd: 30, scope: { kind: 'session', value: 's' } },
  ],
  'for each of a label': [{ period: 'daily', capNanoUsd: 60, scope: { kind: 'each', value: 'label:team' } }],
  'two of them': [
    { period: 'daily', capNanoUsd: 100 },
    { period: 'monthly', capNanoUsd: 120 },
  ],
  'with cheaper models': [
    { period: 'daily', capNanoUsd: 100, onLimit: 'fallback', fallback: 'a/b', fallbackPercent: 50 },
  ],
};

/** A day and more of requests, and what is done to the budgets meanwhile; what came of each, and of the budgets. */
async function story(budgets: BudgetSettings[]) {
  const shop = await openShop();
  const log: unknown[] = [];
  const note = async (what: string, result: unknown) => {
    const standings = (await shop.standings()).map(
      ({ budget, posted, pending, resetsAt, fullest }) =>
        `${budgetName(budget)} ${posted} ${pending} ${fullest ?? ''} ${Number.isFinite(resetsAt) ? (resetsAt - shop.clock.now()) / MINUTE : 'never'}`,
    );
    log.push(
      [
        what,
        result,
        ...standings,
        ...shop.news().map((type) => type.replace(/^(?:budget|request)\./, '! ')),
      ].join(' | '),
    );
  };
  const head = {
    session: 's',
    agent: 'a',
    origin: { process: 'p', repo: 'r' },
    labels: new Map([['team', 'x']]),
  };
  const admit = async (amount: number, fields: object = {}) => {
    const result = await shop.admit(amount, { ...head, ...fields });
    await note(`${amount}`, `${result.kind} ${'remaining' in result ? result.remaining : ''}`);
    return result.id;
  };
  const settle = async (id: number, cost: number) =>
    note(`costs ${cost}`, (await shop.settle(id, cost)).kind);
  await shop.spend(5);
  for (const settings of budgets) await shop.budget(settings);
  await note('set', '');
  const first = await admit(30);
  const second = await admit(40, { mayFallBack: { before: undefined } });
  await settle(first, 25);
  await settle(second, 30);
  await settle(second, 30);
  await admit(90);
  const other = await admit(20, { session: 't', agent: 'b', labels: undefined });
  shop.clock.set(NOON + 11 * MINUTE);
  await settle(other, 25);
  for (const settings of budgets) await shop.budget({ ...settings, capNanoUsd: settings.capNanoUsd + 20 });
  await note('raised', '');
  const late = await admit(35, { least: 1, fitInto: (room: number) => ({ amount: room }) });
  shop.clock.set(NOON + DAY + HOUR);
  await note('a day later', '');
  await settle(late, 35);
  await admit(10);
  shop.clock.set(NOON + 40 * DAY);
  await admit(10);
  const [{ period } = { period: 'daily' as const }] = budgets;
  await shop.removeBudget(period).catch(() => {});
  await note('removed', '');
  return { log, last: eventsOf(shop.db).at(-1)?.data };
}

test('how budgets count a day of requests', async () => {
  const rows = Object.entries(SET).map(([name, budgets]) => row(name, () => story(budgets)));
  const wrong: Partial<BudgetSettings>[] = [
    ...[-1, 0.5, 1e15 + 1, 1e15].map((capNanoUsd) => ({ capNanoUsd })),
    ...[0, 1, 100, 101, 1.5].map((alertPercent) => ({ alertPercent })),
    ...[0, 1, 100, 101].map((fallbackPercent) => ({ fallbackPercent })),
    ...[[], Array(10).fill(5), Array(11).fill(5)].map((alertPercents) => ({ alertPercents })),
    ...[undefined, MINUTE - 1, MINUTE, 31 * DAY, 31 * DAY + 1].map((windowMs) => ({
      period: 'rolling' as const,
      windowMs,
    })),
    { windowMs: HOUR },
  ];
  const checked = wrong.map((each) =>
    row(`terms ${JSON.stringify(each)}`, () => {
      try {
        return checkTerms({ period: 'daily', capNanoUsd: 1, ...each }) ?? 'right';
      } catch (error) {
        return error instanceof GwError ? error.param : error;
      }
    }),
  );
  await expectFrozen(import.meta.dirname, 'budget-stories', [...rows, ...checked]);
});

const TERMS = {
  ...DAILY_TERMS,
  capVersion: 3,
  currentStart: NOON - (NOON % DAY),
  raisedNanoUsd: 0,
  raisedUntil: null,
  removed: 0,
} as unknown as BudgetTerms;
const REQUEST = {
  keyId: 5,
  repo: 'r',
  agent: 'a',
  session: 's',
  provider: 'openai',
  model: 'gpt-5',
  labels: new Map([['team', 'x']]),
};

test('what the terms of budgets mean', async () => {
  const scopes: [string, string][] = [
    ...[
      'run',
      'key',
      'team',
      'each',
      'session',
      'agent',
      'provider',
      'model',
      'label:team',
      'label:other',
    ].flatMap((kind): [string, string][] => ['x', 's', 'a', 'openai', 'gpt-5'].map((value) => [kind, value])),
  ];
  const patterns = [
    'gpt-5',
    'openai/gpt-5',
    'gpt*',
    '*5',
    'openai/*-5',
    'o*g*5',
    'gpt-5*5',
    '*',
    'x*',
    '*x*',
    'gpt**5',
  ];
  const kinds = ['key', 'session', 'agent', 'provider', 'model', 'label:team', 'label:other', 'label:', 'x'];
  const names: Partial<BudgetTerms>[] = [
    {},
    { repo: '/home/me/shop' },
    { scopeKind: 'run', scopeValue: 'r' },
    { scopeKind: 'run', scopeValue: 'r', period: 'lifetime' },
    { scopeKind: 'team', scopeValue: 'web' },
    { scopeKind: 'team', scopeValue: '' },
    { scopeKind: 'label:team', scopeValue: 'x/y' },
    { scopeKind: 'each', scopeValue: 'key' },
  ] as never;
  const teams = [
    '@team/daily',
    'web@team/monthly',
    'team/daily',
    'team/web/daily',
    'web@team/weekly',
    'a/b@team/daily',
    'web/daily',
  ];
  const berlin = createCalendar('Europe/Berlin');
  const apia = createCalendar('Pacific/Apia');
  const starts = {
    midnight: NOON - (NOON % DAY),
    'midnight in Berlin': berlin.day(NOON).start,
    'the first': Date.UTC(2026, 4, 1),
    Monday: Date.UTC(2026, 4, 11),
  };
  const running = Object.entries(starts).flatMap(([of, currentStart]) =>
    (['daily', 'weekly', 'monthly'] as const).map((period) =>
      row(`${period} since ${of}`, () =>
        [berlin, apia, createCalendar('UTC')].map((calendar) =>
          [0, 11 * HOUR, DAY, 2 * DAY, 40 * DAY]
            .map((later) => {
              const span = runningPeriod({ period, currentStart }, currentStart + later, calendar);
              return `${(span.start - currentStart) / HOUR} ${(span.end - currentStart) / HOUR}`;
            })
            .join(', '),
        ),
      ),
    ),
  );
  const fallen = (of: Partial<BudgetTerms>) =>
    [
      { version: 3, start: TERMS.currentStart },
      { version: 2, start: TERMS.currentStart },
      { version: 3, start: NOON - HOUR },
      { version: 3, start: NOON + 1 },
      { version: 3, start: NOON },
    ].map((fall) => isFallen({ ...TERMS, ...of }, fall, NOON));
  const standing = (posted: number, pending = 0, of: object = {}, team?: object): Standing =>
    ({ budget: { ...TERMS, ...of }, posted, pending, resetsAt: NOON + HOUR, ...(team && { team }) }) as never;
  const team = {
    capNanoUsd: 5_000,
    unspentNanoUsd: 500,
    leftNanoUsd: 10,
    reserveNanoUsd: 50,
    isFresh: true,
    isCutOff: false,
  };
  const responses: Record<string, Standing> = {
    daily: standing(400, 50),
    'runs out': standing(999),
    'reaches its cap as it ends': standing(923),
    'nothing spent': standing(0),
    full: standing(1_000),
    'over its cap': standing(1_100, 50),
    rolling: standing(900, 0, { period: 'rolling', windowMs: HOUR }),
    lifetime: {
      ...standing(900, 0, { period: 'lifetime', raisedNanoUsd: 5, raisedUntil: NOON }),
      resetsAt: Number.POSITIVE_INFINITY,
    },
    'of a repository': standing(1, 0, { repo: 'r', alertPercents: '[50,90]' }),
    'of a model': standing(1, 0, {
      scopeKind: 'model',
      scopeValue: 'm',
      onLimit: 'fallback',
      fallback: 'a,b',
    }),
    'for each': { ...standing(1, 0, { scopeKind: 'each', scopeValue: 'session' }), fullest: 's' },
    'for each, without any': standing(0, 0, { scopeKind: 'each', scopeValue: 'session' }),
    'of a team': standing(
      100,
      20,
      { scopeKind: 'team', scopeValue: '' },
      { ...team, unreachableSince: NOON },
    ),
  };
  const all = Object.values(responses);
  await expectFrozen(import.meta.dirname, 'budget-terms', [
    row('scopes that count a request', () =>
      scopes
        .filter(([scopeKind, scopeValue]) =>
          countsRequest({ ...TERMS, scopeKind, scopeValue } as never, REQUEST),
        )
        .map((each) => each.join(' ')),
    ),
    row('repositories and keys that do', () =>
      [{ repo: 'r' }, { repo: 'x' }, { keyId: 5 }, { keyId: 6 }].map((of) =>
        countsRequest({ ...TERMS, ...of }, REQUEST),
      ),
    ),
    row('patterns of its model', () => patterns.filter((pattern) => matchesModel(pattern, REQUEST))),
    row('its member', () => kinds.map((kind) => `${kind} ${memberValue(kind, REQUEST)} ${isEachKind(kind)}`)),
    row('members without any', () =>
      kinds.map((kind) => memberValue(kind, { keyId: 0, repo: '', provider: '', model: 'm' })),
    ),
    row('targets', () => [
      targetName(REQUEST),
      targetName({ provider: 'a', model: 'a/b' }),
      targetName({ provider: '', model: 'b' }),
    ]),
    row('names', () =>
      names.map((of) => `${budgetName({ ...TERMS, ...of })} ${budgetLabel({ ...TERMS, ...of })}`),
    ),
    row('labels of names', () =>
      ['a/daily@/x/y', 'a/daily@/', 'a/daily', 'a@b/c', 'a/daily@b/c/'].map((name) => budgetLabel(name)),
    ),
    row('teams', () =>
      teams.map((name) => teamBudgetOf(name) && teamBudgetText(teamBudgetOf(name) as never)),
    ),
    ...running,
    row('boundaries', () =>
      [1, 2, 3, 40].map((days) =>
        boundariesBetween(TERMS, TERMS.currentStart + days * DAY, createCalendar('UTC')),
      ),
    ),
    row('thresholds', () =>
      [0, 1, 99, 100, 101, 12_345].map((capNanoUsd) =>
        [1, 50, 99, 100].map((percent) => thresholdOf({ capNanoUsd, alertPercent: 7 }, percent)).join(' '),
      ),
    ),
    row('alerts', () => [alertsOf(TERMS), alertsOf({ alertPercent: 1, alertPercents: '[1,2]' })]),
    row('fallen', () => [fallen({}), fallen({ period: 'rolling', windowMs: HOUR })]),
    row('excesses', () => ['output', 'maximum', 'code', 'free', 'price 25', 'bytes'].map(describeExcess)),
    ...Object.entries(responses).map(
      ([name, each]): Row => ({
        name,
        outcome: () => {
          const {
            object: _,
            project_id,
            period,
            budget_id,
            alert_usd,
            cap_nano_usd,
            spent_nano_usd,
            ...rest
          } = budgetResponse(each, NOON);
          return {
            ...(name === 'daily' ? budgetResponse(each, NOON) : {}),
            ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== 0)),
            alerted: isAlerted(each),
            left: leftOf(each),
            spentFor: [1, 999, 1_001].map((small) => isSpentFor(each, small)),
          };
        },
      }),
    ),
    row('times', () => [null, undefined, 0, Number.POSITIVE_INFINITY].map(isoTime)),
    row('distinct ones', () => distinct(all).length),
    row('exhausted', () => [1, 100, 600, 5_000].map((needed) => exhausted(all.slice(0, 4), needed)?.posted)),
    row('exhausted, of a team', () =>
      [true, false].map((isFresh) => exhausted([standing(0, 0, {}, { ...team, isFresh })], 501)?.posted),
    ),
    row('short of a team', () =>
      [100, 900, 950].map(
        (needed) =>
          shortOfTeam([standing(100), standing(100, 0, {}, team), standing(120, 0, {}, team)], needed)
            ?.posted,
      ),
    ),
  ]);
});
