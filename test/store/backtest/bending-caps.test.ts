import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backtest } from '../../../src/store/backtest/backtest.ts';
import { type PastRequest, pastRequests, type Served } from '../../../src/store/backtest/past-requests.ts';
import type { SimulatedTerms } from '../../../src/store/backtest/simulated-accounts.ts';
import { countedInScope, type Scope, setBudget } from '../../../src/store/budgets/budgets.ts';
import { FLAGS, type RecordedNeed, type RequestRecord } from '../../../src/store/ledger/record.ts';
import type { FallenConversation } from '../../../src/store/ledger/standing.ts';
import { type EachKind, fallNow } from '../../../src/store/ledger/terms.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  memoryDatabase,
  NOON,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
} from '../../support/simulator.ts';

const DEAR = { provider: 'a', model: 'dear' };
const CHEAP = { provider: 'b', model: 'cheap' };
/** Nano-USD a token. */
const PRICES: Readonly<Record<string, number>> = { dear: 10, cheap: 3 };
const priceOf = ({ model }: Served, tokens: number): number => (PRICES[model] ?? 0) * tokens;

const MOST = 16;
/** Asks are whole rounds apart. A request ends 2^i ms after a round, so no two things happen at one time. */
const ROUND_MS = 2 ** (MOST + 1);

interface Drawn {
  rounds: number;
  lasts: number;
  session: number;
  customer: 'acme' | 'mega' | '';
  key: number;
  /** What it may write at most, and the part of it that it writes. */
  tokens: number;
  percent: number;
}

const requests = fc.array(
  fc.record<Drawn>({
    rounds: fc.integer({ min: 0, max: 3 }),
    lasts: fc.integer({ min: 0, max: 4 }),
    session: fc.nat({ max: 2 }),
    customer: fc.constantFrom('acme', 'mega', ''),
    key: fc.constantFrom(1, 2),
    tokens: fc.integer({ min: 1, max: 12 }),
    percent: fc.constantFrom(0, 50, 100),
  }),
  { minLength: 4, maxLength: MOST },
);

interface Terms {
  cap: number;
  scope: Scope | undefined;
  /** Without: the cap refuses. */
  fromPercent: number | undefined;
}

const terms = fc.record<Terms>({
  cap: fc.integer({ min: 30, max: 400 }),
  scope: fc.constantFrom<Scope | undefined>(
    undefined,
    ...['session', 'key', 'model', 'provider', 'label:customer'].map(
      (value): Scope => ({ kind: 'each', value }),
    ),
    { kind: 'model', value: 'a/*' },
    { kind: 'label:customer', value: 'acme' },
  ),
  fromPercent: fc.constantFrom(undefined, 100, 60),
});

/** What a ledger has done. */
interface Played {
  /** The positions of requests. */
  refused: number[];
  fallen: number;
  fallenCost: number;
  /** A request found no room at the cheaper model, and waited for its own: no record says so. */
  hasWaited: boolean;
  spent: Map<string, number>;
  ids: number[];
  db: Awaited<ReturnType<typeof memoryDatabase>>;
}

type Head = Parameters<ReturnType<typeof startDaemon>['ledger']['admit']>[0];

/** As a gateway has it: a queue for a project or a key, or for each session under other caps. */
function queueKeyOf({ key, session }: Drawn, under: Terms | undefined): string {
  const { kind, value } = under?.scope ?? {};
  if (kind === undefined) return '';
  return kind === 'each' && value === 'key' ? `${key}` : `${session}`;
}

/** Plays requests on a ledger, under a cap if there is one, with the queue that a gateway has. */
async function play(drawn: readonly Drawn[], under: Terms | undefined): Promise<Played> {
  const db = await memoryDatabase();
  addProjects(db, 1);
  db.exec(
    "INSERT INTO keys (id, project_id, hash, hint, admin, created_at) VALUES (1, 1, x'01', 'k1', 0, 0), (2, 1, x'02', 'k2', 0, 0)",
  );
  const world = createWorld();
  const { ledger, nextId } = startDaemon(db, world, 0);
  if (under) {
    const project = { id: 1, name: 'p1', plan: 'pro', createdAt: 0, pausedAt: null } as const;
    const bends = { onLimit: 'fallback', fallback: 'b/cheap', fallbackPercent: under.fromPercent } as const;
    const settings = { period: 'daily', capNanoUsd: under.cap, scope: under.scope } as const;
    const context = { calendar: world.calendar, now: NOON };
    await setBudget(db, project, { ...settings, ...(under.fromPercent !== undefined && bends) }, context);
  }
  const refused: number[] = [];
  const ids: number[] = [];
  const gone = new Map<number, FallenConversation>();
  const running: { endsAt: number; end: () => Promise<void> }[] = [];
  let waiting: { position: number; mayFallBack: boolean; admission: Head }[] = [];
  let fallen = 0;
  let fallenCost = 0;
  let hasWaited = false;

  async function ask(position: number, isAskedAgain: boolean): Promise<void> {
    const request = drawn[position] as Drawn;
    const id = ids[position] ?? nextId();
    ids[position] = id;
    const { session, customer, key: keyId } = request;
    const client = {
      keyId,
      session: `s${session}`,
      agent: 'codex',
      ...(customer !== '' && { labels: new Map([['customer', customer]]) }),
    };
    const needAt = (target: Served) => (): RecordedNeed => ({
      ...{ inputTokens: 0, inputBound: 'bytes', outputTokens: request.tokens, outputAskedTokens: null },
      ...{ inputNanoUsd: 0, outputNanoUsd: priceOf(target, request.tokens), feesNanoUsd: 0 },
    });
    const tryAt = async (target: Served, ways: object) => {
      const need = needAt(target);
      const blocked = {
        status: 402,
        outcome: 'blocked',
        durationMs: world.clock.now() - NOON,
        need: need(),
      } as const;
      const admission = admissionOf(id, priceOf(target, request.tokens), {
        ...{ ...target, ...client, ...ways, needOf: need, queueKey: queueKeyOf(request, under) },
        blockedRecord: () => recordOf(id, { ...client, ...target, ...blocked }),
      });
      // Those that wait are before it.
      const before = waiting.map((waiter) => ledger.admit(waiter.admission));
      const admitted = ledger.admit(admission);
      ledger.flush();
      for (const { kind } of await Promise.all(before)) expect(kind).toBe('wait');
      return { ...(await admitted), admission };
    };
    const hold = (target: Served, rest: Partial<RequestRecord> = {}) => {
      const tokens = Math.floor((request.tokens * request.percent) / 100);
      const usage = { ...NO_USAGE, outputTokens: tokens };
      const record = { ...client, ...target, usage, costNanoUsd: priceOf(target, tokens), ...rest };
      running.push({
        endsAt: world.clock.now() + request.lasts * ROUND_MS + 2 ** position,
        async end() {
          const settled = ledger.settle(recordOf(id, record));
          ledger.flush();
          await settled;
        },
      });
      return record.costNanoUsd;
    };
    const before = gone.get(session);
    const first = await tryAt(DEAR, isAskedAgain ? {} : { mayFallBack: { before } });
    if (first.kind === 'held') return void hold(DEAR);
    if (first.kind === 'fallback') {
      const [full] = first.standings;
      if (!full) throw new Error('no budget sends it down');
      const second = await tryAt(CHEAP, { fallenFrom: full.budget.id });
      if (second.kind === 'held') {
        gone.set(session, { budgetId: full.budget.id, ...fallNow(full.budget, world.clock.now()) });
        fallen++;
        fallenCost += hold(CHEAP, { flags: FLAGS.fallback, detail: { fallback_from: 'a/dear' } });
        return;
      }
      return ask(position, true);
    }
    if (first.kind === 'blocked') refused.push(position);
    else if (first.kind !== 'wait') throw new Error(first.kind);
    else {
      waiting.push({ position, mayFallBack: !isAskedAgain, admission: first.admission });
      hasWaited ||= isAskedAgain;
    }
  }

  async function runUntil(timeMs: number): Promise<void> {
    for (;;) {
      running.sort((a, b) => a.endsAt - b.endsAt);
      const [next] = running;
      if (!next || next.endsAt > timeMs) return;
      running.shift();
      world.clock.set(next.endsAt);
      await next.end();
      const asking = waiting;
      waiting = [];
      for (const { position, mayFallBack } of asking) await ask(position, !mayFallBack);
    }
  }

  let at = NOON;
  for (const [position, { rounds }] of drawn.entries()) {
    at += (rounds + 1) * ROUND_MS;
    await runUntil(at);
    world.clock.set(at);
    await ask(position, false);
  }
  await runUntil(Number.POSITIVE_INFINITY);
  expect(waiting).toEqual([]);
  const members = db
    .prepare<[], { name: string; spent: number }>(`
      SELECT iif(scope_kind = 'key', CAST(key_id AS TEXT), iif(parent_id = 0, '', scope_value)) AS name,
        sum(posted_nano_usd) AS spent
      FROM budgets b JOIN budget_periods p ON p.budget_id = b.id GROUP BY b.id HAVING spent > 0`)
    .all();
  return {
    ...{ refused: refused.sort((a, b) => a - b), fallen, fallenCost, hasWaited, ids, db },
    spent: new Map(members.map(({ name, spent }) => [name, spent])),
  };
}

/** Something wrong in the replay, which the property has to notice. */
interface Change {
  terms?: (terms: SimulatedTerms) => Partial<SimulatedTerms>;
  request?: (request: PastRequest) => PastRequest;
}

async function replay({ db, ids }: Played, under: Terms, change: Change) {
  const { calendar } = createWorld();
  const since = calendar.day(NOON).start;
  const { scope, fromPercent } = under;
  const owner = { id: 1, name: 'p1', plan: 'pro', createdAt: 0, pausedAt: null } as const;
  const each = scope?.kind === 'each' ? (scope.value as EachKind) : undefined;
  const counted = { ...countedInScope(db, owner, scope), projectIds: [1], since, until: NOON + 86_400_000 };
  const cheaper = fromPercent !== undefined && {
    targets: [CHEAP],
    fromPercent,
    priceAt: ({ work }: PastRequest, target: Served) =>
      work && {
        needNanoUsd: priceOf(target, work.needOutputTokens),
        costNanoUsd: priceOf(target, work.usage.outputTokens),
      },
  };
  const own: SimulatedTerms = { projectId: 1, capNanoUsd: under.cap, period: 'daily', since, scope };
  const given = { ...own, ...(cheaper && { cheaper }) };
  const refused: number[] = [];
  async function* pages() {
    for await (const page of pastRequests(db, { ...counted, each, withWork: cheaper !== false }))
      yield change.request ? page.map(change.request) : page;
  }
  const report = await backtest(
    pages(),
    { ...given, ...change.terms?.(given) },
    { calendar, onBlocked: ({ id }) => refused.push(ids.indexOf(id)) },
  );
  const { fallbacks } = report;
  return {
    ...report,
    refused: refused.sort((a, b) => a - b),
    fallen: fallbacks.reduce((sum, { requests }) => sum + requests, 0),
    fallenCost: fallbacks.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0),
    spent: report.periods.reduce((sum, { spentNanoUsd }) => sum + spentNanoUsd, 0),
  };
}

/** A replay of what was never capped, and of what was: both do what the ledger did under the cap. */
async function compare(drawn: readonly Drawn[], under: Terms, change: Change): Promise<void> {
  const free = await play(drawn, undefined);
  const capped = await play(drawn, under);
  const { refused, fallen, fallenCost } = capped;
  const spent = [...capped.spent.values()].reduce((sum, each) => sum + each, 0);
  for (const history of capped.hasWaited ? [free] : [free, capped]) {
    const report = await replay(history, under, change);
    expect(report).toMatchObject({ refused, fallen, fallenCost, spent });
    if (under.fromPercent === undefined) expect(report.exact).toBe(true);
    for (const { name, spentNanoUsd } of report.members)
      expect([name, spentNanoUsd]).toEqual([name, capped.spent.get(name) ?? 0]);
  }
  free.db.close();
  capped.db.close();
}

const property = (change: Change = {}) =>
  fc.asyncProperty(requests, terms, (drawn, under) => compare(drawn, under, change));

test(
  'a backtest of a cap for each, for a label or a model, with or without a cheaper model, does what the ledger does',
  async () => {
    await fc.assert(property(), runs(0.12));
  },
  PROPERTY_TIMEOUT_MS,
);

const isEach = (scope: SimulatedTerms['scope']): boolean => scope?.kind === 'each';

type Cheaper = NonNullable<SimulatedTerms['cheaper']>;
const bent = (change: (cheaper: Cheaper) => Partial<Cheaper>): Change => ({
  terms: ({ cheaper }) => (cheaper ? { cheaper: { ...cheaper, ...change(cheaper) } } : {}),
});

test.each<[string, Change]>([
  ['all members share one cap', { terms: ({ scope }) => (isEach(scope) ? { scope: undefined } : {}) }],
  [
    'each session has its own cap',
    { terms: ({ scope }) => (scope ? {} : { scope: { kind: 'each', value: 'session' } }) },
  ],
  ['a cheaper model is as dear', bent(() => ({ priceAt: (request) => request }))],
  ['a share is ignored', bent(() => ({ fromPercent: 100 }))],
  ['nothing goes to a cheaper model', { terms: () => ({ cheaper: undefined }) }],
  [
    'the cheaper model counts in the cap of the dear one',
    { terms: ({ scope }) => (scope?.kind === 'model' ? { scope: undefined } : {}) },
  ],
  ['a conversation goes up again', { request: (request) => ({ ...request, sessionId: 0 }) }],
])('a backtest in which %s is found out', async (_name, change) => {
  await expect(fc.assert(property(change), { ...runs(0.4), endOnFailure: true })).rejects.toThrow();
});
