import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Labels } from '../../../src/labels.ts';
import { type BudgetSettings, listBudgets, setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import type { Ledger } from '../../../src/store/ledger/ledger.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  memoryDatabase,
  PROPERTY_TIMEOUT_MS,
  readmissionOf,
  recordOf,
  runs,
  startDaemon,
  type World,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';

/** What a request costs at the targets that it has had, in order; the last one is open while the request is. */
interface Played {
  id: number;
  projectId: number;
  labels: Labels | undefined;
  parts: { provider: string; model: string; cost: number }[];
  isOpen: boolean;
}

const CAP = 100;
const TARGETS = [
  { provider: 'a', model: 'm-small' },
  { provider: 'a', model: 'm-large' },
  { provider: 'b', model: 'm-small' },
];
const LABELS: (Labels | undefined)[] = [
  undefined,
  new Map([['customer', 'acme']]),
  new Map([
    ['customer', 'mega'],
    ['feature', 'search'],
  ]),
];

/** Budgets of project 1 by what they count of a request; those for each by the name of the member. */
const SCOPES: {
  scope: BudgetSettings['scope'];
  countedAs: (part: Played['parts'][number], labels: Labels | undefined) => string;
}[] = [
  { scope: undefined, countedAs: () => '' },
  { scope: { kind: 'model', value: 'a/*' }, countedAs: ({ provider }) => (provider === 'a' ? 'a/*' : '-') },
  {
    scope: { kind: 'model', value: 'm-small' },
    countedAs: ({ model }) => (model === 'm-small' ? 'm-small' : '-'),
  },
  { scope: { kind: 'each', value: 'provider' }, countedAs: ({ provider }) => provider },
  {
    scope: { kind: 'label:feature', value: 'search' },
    countedAs: (_part, labels) => labels?.get('feature') ?? '-',
  },
  {
    scope: { kind: 'each', value: 'label:customer' },
    countedAs: (_part, labels) => labels?.get('customer') ?? '-',
  },
];

type Head = Parameters<Ledger['admit']>[0] | Parameters<Ledger['readmit']>[0];
/** Something done to the heads that a ledger gets, which the property has to notice. */
type Change = (head: Head, isFirst: boolean) => Partial<Head>;

interface Step {
  kind: 'admit' | 'readmit' | 'settle';
  pick: number;
  project: number;
  target: number;
  labels: number;
  amount: number;
  costPercent: number;
}

const steps = fc.array(
  fc.record<Step>({
    kind: fc.constantFrom('admit', 'admit', 'readmit', 'settle'),
    pick: fc.nat(),
    project: fc.constantFrom(1, 1, 2),
    target: fc.nat({ max: 2 }),
    labels: fc.nat({ max: 2 }),
    amount: fc.integer({ min: 1, max: 60 }),
    costPercent: fc.constantFrom(0, 30, 100),
  }),
  { minLength: 4, maxLength: 40 },
);

async function setAll(db: Db, world: World): Promise<void> {
  const project = { id: 1, name: 'p1', plan: 'pro', createdAt: 0, pausedAt: null } as const;
  const context = { calendar: world.calendar, now: world.clock.now() };
  for (const { scope } of SCOPES)
    await setBudget(db, project, { period: 'daily', capNanoUsd: CAP, scope }, context);
}

/** Plays steps, and compares each balance with what the targets of the requests have cost. */
async function play(drawn: readonly Step[], change: Change): Promise<void> {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const world = createWorld();
  await setAll(db, world);
  const daemon = startDaemon(db, world, 0);
  const { ledger } = daemon;
  const requests: Played[] = [];
  const done = <T>(promise: Promise<T>) => {
    ledger.flush();
    return promise;
  };
  for (const step of drawn) {
    const target = TARGETS[step.target] ?? { provider: '', model: '' };
    const open = requests.filter(({ isOpen }) => isOpen);
    const request = open[step.pick % Math.max(1, open.length)];
    if (step.kind === 'admit') {
      const labels = LABELS[step.labels];
      const head = admissionOf(daemon.nextId(), step.amount, { projectId: step.project, ...target, labels });
      const result = await done(ledger.admit({ ...head, ...change(head, true) }));
      if (result.kind !== 'held') continue;
      const parts = [{ ...target, cost: step.amount }];
      requests.push({ id: head.id, projectId: step.project, labels, parts, isOpen: true });
    } else if (request) {
      const { id, projectId, labels, parts } = request;
      const last = parts.at(-1);
      if (!last) continue;
      last.cost = Math.floor((last.cost * step.costPercent) / 100);
      const spent = parts.reduce((sum, { cost }) => sum + cost, 0);
      if (step.kind === 'readmit') {
        const next = readmissionOf(id, step.amount, { projectId, ...target, labels, spent });
        const result = await done(ledger.readmit({ ...next, ...change(next, false) }));
        parts.push({ ...target, cost: result.kind === 'held' ? step.amount : 0 });
      } else {
        request.isOpen = false;
        await done(ledger.settle(recordOf(id, { projectId, ...last, labels, costNanoUsd: spent })));
      }
    }
    await compare(db, requests);
    checkDatabase(db);
  }
  expect((await listBudgets(db, [1], { calendar: world.calendar, now: world.clock.now() })).length).toBe(
    SCOPES.length,
  );
  db.close();
}

async function compare(db: Db, requests: readonly Played[]): Promise<void> {
  const rows = db
    .prepare<[], { kind: string; value: string; sum: number }>(`
      SELECT b.scope_kind AS kind, b.scope_value AS value, p.posted_nano_usd + p.pending_nano_usd AS sum
      FROM budgets b JOIN budget_periods p ON p.budget_id = b.id WHERE b.scope_kind <> 'each'`)
    .all();
  const found = new Map(rows.map(({ kind, value, sum }) => [`${kind} ${value}`, sum]));
  for (const sum of found.values()) expect(sum).toBeLessThanOrEqual(CAP);
  const expected = new Map<string, number>();
  for (const { projectId, labels, parts } of requests)
    for (const part of projectId === 1 ? parts : [])
      for (const { scope, countedAs } of SCOPES) {
        const kind = scope?.kind === 'each' ? scope.value : (scope?.kind ?? '');
        const value = countedAs(part, labels);
        const name = `${kind} ${value}`;
        if (value !== '-') expected.set(name, (expected.get(name) ?? 0) + part.cost);
      }
  const spentIn = (sums: Map<string, number>) => [...sums].filter(([, sum]) => sum > 0).sort();
  expect(spentIn(found)).toEqual(spentIn(expected));
}

const property = (change: Change = () => ({})) => fc.asyncProperty(steps, (drawn) => play(drawn, change));

test(
  'budgets of labels, models and providers count what their requests cost at their targets, within the caps',
  async () => {
    await fc.assert(property(), runs(process.env.GW_LONG ? 0.15 : 0.07));
  },
  PROPERTY_TIMEOUT_MS,
);

test.each<[string, Change]>([
  ['labels are lost', () => ({ labels: undefined })],
  ['labels are lost by a fail-over', (_head, isFirst) => (isFirst ? {} : { labels: undefined })],
  ['a fail-over stays at the first target', (_head, isFirst) => (isFirst ? {} : (TARGETS[0] ?? {}))],
  ['what was spent is forgotten', (_head, isFirst) => (isFirst ? {} : { spent: 0 })],
  ['a request counts in another project', (head) => ({ projectId: 3 - head.projectId })],
])('a ledger in which %s is found out', async (_name, change) => {
  await expect(fc.assert(property(change), { ...runs(0.6), endOnFailure: true })).rejects.toThrow();
});
