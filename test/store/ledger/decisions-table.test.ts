import { test } from 'vitest';
import { type Admission, createAdmissions, type Readmission } from '../../../src/store/ledger/admission.ts';
import type { Standing } from '../../../src/store/ledger/standing.ts';
import { DAILY_TERMS } from '../../support/budget-terms.ts';
import { expectFrozen, type Row } from '../../support/frozen.ts';
import { type AdmissionFields, admissionOf, NOON, readmissionOf } from '../../support/simulator.ts';

type Options = Parameters<typeof createAdmissions>[0];

const TEAM = {
  ...{ capNanoUsd: 5_000, unspentNanoUsd: 3_000, leftNanoUsd: 1_000, reserveNanoUsd: 50 },
  ...{ isFresh: true, isCutOff: false, frozen: false, unreachableSince: undefined },
};
const standing = (posted: number, pending = 0, budget: object = {}, team?: object): Standing =>
  ({
    budget: { ...DAILY_TERMS, ...budget },
    posted,
    pending,
    resetsAt: NOON,
    ...(team && { team: { ...TEAM, ...team } }),
  }) as never;

/** Budgets that count a request. */
const BUDGETS: Record<string, Standing[]> = {
  'no budget': [],
  'much room': [standing(100)],
  'room when others end': [standing(100, 850)],
  'room for the least': [standing(100, 780)],
  'hardly any room': [standing(940)],
  'all spent': [standing(1_000)],
  'hardly any alert yet': [standing(700, 250)],
  'two budgets': [standing(100), standing(940, 0, { id: 2 })],
  'of a model': [standing(960, 0, { scopeKind: 'model', scopeValue: 'm' })],
  'of a provider, held': [standing(10, 960, { scopeKind: 'provider', scopeValue: 'openai' })],
  'of a repository': [standing(960, 0, { repo: 'r' })],
  'that asks': [standing(960, 0, { onLimit: 'ask' })],
  'that asks, beside one that does not': [standing(960, 0, { onLimit: 'ask' }), standing(970, 0, { id: 2 })],
  'that asks about runaways': [standing(100, 0, { runaway: 'ask' })],
  'that stops runaways': [standing(100), standing(100, 0, { id: 2, runaway: 'block' })],
  'with cheaper models': [standing(850, 0, { onLimit: 'fallback', fallbackPercent: 90 })],
  'with cheaper models, in reach': [standing(780, 0, { onLimit: 'fallback', fallbackPercent: 90 })],
  'with cheaper models, of a model': [
    standing(850, 0, { onLimit: 'fallback', fallbackPercent: 90, scopeKind: 'model' }),
  ],
  'a team': [standing(100, 0, {}, {})],
  'a team that is short here': [standing(940, 0, {}, {})],
  'a team that is short': [standing(940, 0, {}, { leftNanoUsd: 10 })],
  'a team of which nothing is known': [standing(940, 0, {}, { isFresh: false, leftNanoUsd: 10 })],
  'a team that is gone': [standing(940, 0, {}, { unreachableSince: 5 })],
  'a team that is long gone': [standing(940, 0, {}, { unreachableSince: 5, isCutOff: true })],
  'a team that is frozen': [standing(940, 0, {}, { frozen: true })],
  'a team that has spent all': [standing(940, 0, {}, { unspentNanoUsd: 20, leftNanoUsd: 0 })],
};

/** A request of 100 at most and 30 at least, and others. */
const REQUESTS: Record<string, AdmissionFields> = {
  plain: { least: 30, fitInto: (room) => (room >= 30 ? { amount: Math.min(room, 100) } : undefined) },
  whole: {},
  first: { isFinal: false },
  small: { least: 30, small: 5 },
  'counted less': { least: 30, leastIfCounted: (isAlerted) => (isAlerted ? 20 : 10) },
  'worth a count': {
    least: 30,
    fitInto: (room) => (room >= 30 ? { amount: room } : undefined),
    isWorthCounting: (_fit, room) => room < 60,
  },
  unpriced: { amount: 0, unpriced: true },
  free: { amount: 0, least: 0 },
  'not billed': { notBilled: true } as Partial<Admission>,
  'with other targets': { hasOthers: true },
  'may fall back': { mayFallBack: { before: undefined }, whole: 60 },
  'may fall back, first': { mayFallBack: { before: undefined }, whole: 60, isFinal: false },
  'may fall back, as before': { mayFallBack: { before: { budgetId: 1, version: 1, start: 0 } } },
  'may fall back, elsewhere': { mayFallBack: { before: undefined }, hasOthers: true },
  fallen: { fallenFrom: 1 },
  'fallen, first': { fallenFrom: 1, isFinal: false, whole: 20 },
  'fallen, unpriced': { fallenFrom: 1, unpriced: true },
  'a runaway': { runaway: () => 'it repeats' },
  'a runaway, first': { runaway: () => 'it repeats', isFinal: false },
  'a runaway that may be asked about': {
    runaway: () => 'it repeats',
    asking: { needed: () => 90, expiresAt: () => NOON + 1 },
  },
  'may be asked about': { least: 40, asking: { needed: () => 90, expiresAt: () => NOON + 1 } },
  'asked about too late': { asking: { needed: () => 90, expiresAt: () => NOON } },
};

/** The values of a value, as words. */
const words = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.values(value)
        .map(words)
        .filter((word) => word !== '')
        .join(' ')
    : String(value ?? '');

/** A ledger's decisions over budgets as they stand, and all that it does; `isLong`: with the names of what it writes. */
function deciding(
  standings: Standing[],
  {
    hold,
    answer,
    isLong = false,
  }: { hold?: object | undefined; answer?: object | undefined; isLong?: boolean } = {},
) {
  const log: unknown[] = [];
  const say = (...all: unknown[]) => void log.push(isLong ? all : words(all));
  const options = {
    slot: 1,
    now: () => NOON,
    balances: {
      standingsFor: () => standings,
      reserve(_: unknown, amount: number, before?: (id: number) => number) {
        const charges = standings.map(({ budget }) => [budget.id, 0, before?.(budget.id)]);
        say('reserves', amount);
        return charges;
      },
      post: (...args: unknown[]) => say('posts', ...args),
      leave: (...args: unknown[]) => say('leaves', ...args),
      exceed: (...args: unknown[]) => say('exceeded', ...args),
      fallBack: (...args: unknown[]) => say('falls back', ...args),
    },
    journal: {
      open: (_slot: number, _head: unknown, held: object, need: unknown) => say('opens', held, need ?? ''),
      reopen: (_slot: number, _head: unknown, held: object, need: unknown) =>
        say('reopens', held, need ?? ''),
      holdOf: () => hold,
    },
    writeRecord: ({ detail }: { detail?: object }) => void say('records', isLong ? detail : ''),
    emitBlocked: (_project: number, { request_id: _id, ...data }: Record<string, unknown>) =>
      say('blocked', isLong ? data : [data.estimated_cost_usd, data.remaining_usd]),
    team: {
      ...{ now: () => NOON, spent: () => {} },
      asked: (...args: unknown[]) => say('asked', ...args),
      short: (...args: unknown[]) => say('short', ...args),
      refused: (...args: unknown[]) => say('refused', ...args),
    },
    asks: {
      rows: {
        read: () => answer,
        open: ({ requestId: _, ...row }: Record<string, unknown>) => say('asks', row),
        close: (_id: number, state: string) => say('closes', state),
      },
      emit: (
        type: string,
        _project: number,
        { ask_id: _a, request_id: _r, ...data }: Record<string, unknown>,
      ) => say(type, isLong ? data : ''),
    },
  };
  return { log, deciding: createAdmissions(options as unknown as Options) };
}

const idsOf = (result: object) =>
  JSON.parse(
    JSON.stringify(result, (key, value) => {
      if (key === 'standing') return `of ${value.budget.id}`;
      // Its amount is told already.
      if (key === 'fit') return undefined;
      return key === 'standings' ? value.length : value;
    }),
  );
const request = (fields: AdmissionFields) => admissionOf(1 as never, fields.amount ?? 100, fields);

function decided(standings: Standing[], fields: AdmissionFields, answer?: object) {
  const { log, deciding: ledger } = deciding(standings, { answer });
  const how = answer ? ledger.look : ledger.admit;
  return [words(idsOf(how(request(fields)))), ...log].join('; ');
}

const ANSWERS: Record<string, object> = {
  open: { state: 'open', budgetId: 1, allowed: null, isShut: 0 },
  'open, about another budget': { state: 'open', budgetId: 2, allowed: null, isShut: 0 },
  approved: { state: 'approved', budgetId: 1, allowed: 90, isShut: 0 },
  'approved, all of it': { state: 'approved', budgetId: 1, allowed: 100, isShut: 0 },
  raised: { state: 'approved', budgetId: 1, allowed: null, isShut: 0 },
  denied: { state: 'denied', budgetId: 1, allowed: null, isShut: 0 },
  shut: { state: 'open', budgetId: 1, allowed: null, isShut: 1 },
};

const HOLDS: Record<string, object | undefined> = {
  'no hold': undefined,
  'a hold': { amount: 50, charges: [[1, 0]] },
  'a hold elsewhere': {
    amount: 50,
    charges: [
      [7, 0],
      [1, 0, 15],
    ],
  },
  'a hold without budgets': { amount: 50, charges: [] },
};
const NEXT: Record<string, Partial<Readmission>> = {
  plain: {},
  'after some cost': { spent: 20, needOf: ({ amount }) => ({ outputTokens: amount }) as never },
  'the last': { spent: 20, least: 60, small: 5 },
  unpriced: { unpriced: true, least: 60 },
  'may be cut': { spent: 20, fitInto: (room) => (room >= 10 ? { amount: room } : undefined) },
  allowed: { allowed: 90 },
};

test('what is decided over a request, by the budgets that count it', async () => {
  const admitting = Object.entries(BUDGETS).map(
    ([name, standings]): Row => ({
      name,
      outcome: () => decided(standings, REQUESTS.plain as object),
      variations: Object.entries(REQUESTS).map(([of, fields]) => ({
        name: of,
        outcome: () => decided(standings, fields),
      })),
    }),
  );
  const asking = [
    'much room',
    'room when others end',
    'all spent',
    'that asks',
    'that asks, beside one that does not',
    'that asks about runaways',
  ].map((name): Row => {
    const standings = BUDGETS[name] as Standing[];
    const fields = REQUESTS['may be asked about'] as object;
    return {
      name: `asked, ${name}`,
      outcome: () => decided(standings, fields, ANSWERS.open),
      variations: [
        ...Object.entries(ANSWERS).map(([of, answer]) => ({
          name: of,
          outcome: () => decided(standings, fields, answer),
        })),
        ...Object.entries(ANSWERS).map(([of, answer]) => ({
          name: `a runaway, ${of}`,
          outcome: () => decided(standings, REQUESTS['a runaway that may be asked about'] as object, answer),
        })),
        {
          name: 'may be cut',
          outcome: () => decided(standings, { ...fields, ...REQUESTS.plain }, ANSWERS.approved),
        },
        {
          name: 'too late',
          outcome: () => decided(standings, REQUESTS['asked about too late'] as object, ANSWERS.open),
        },
        { name: 'nobody to ask', outcome: () => decided(standings, {}, ANSWERS.approved) },
      ],
    };
  });
  const again = [
    'no budget',
    'much room',
    'hardly any room',
    'all spent',
    'of a model',
    'that asks',
    'a team that is short',
  ].map((name): Row => {
    const outcome = (hold: object | undefined, next: Partial<Readmission>) => () => {
      const { log, deciding: ledger } = deciding(BUDGETS[name] as Standing[], { hold });
      return [
        words(idsOf(ledger.readmit(readmissionOf(1 as never, 100, { least: 100, ...next })))),
        ...log,
      ].join('; ');
    };
    return {
      name: `again, ${name}`,
      outcome: outcome(HOLDS['a hold'], {}),
      variations: Object.entries(HOLDS).flatMap(([of, hold]) =>
        Object.entries(NEXT).map(([how, next]) => ({ name: `${of}, ${how}`, outcome: outcome(hold, next) })),
      ),
    };
  });
  await expectFrozen(import.meta.dirname, 'decisions', [
    ...admitting,
    ...(['hardly any room', 'of a repository', 'a team that has spent all', 'that asks'] as const).map(
      (name): Row => ({
        name: `${name}, in full`,
        outcome: () => {
          const { log, deciding: ledger } = deciding(BUDGETS[name] as Standing[], { isLong: true });
          ledger.admit(
            request({ asking: { needed: () => 90, expiresAt: () => NOON + 1 }, agent: 'a', session: 's' }),
          );
          return log;
        },
      }),
    ),
    ...asking,
    ...again,
    {
      name: 'behind others that wait',
      outcome: () => {
        const standings = [standing(100, 850)];
        const { deciding: ledger } = deciding(standings);
        const kinds = [
          request({}),
          request({ amount: 5 }),
          request({ amount: 5, queueKey: 9 }),
          request({ amount: 5, fallenFrom: 1 }),
        ].map((each) => ledger.admit(each).kind);
        ledger.endBatch();
        return [...kinds, ledger.admit(request({ amount: 5 })).kind];
      },
    },
  ]);
});
