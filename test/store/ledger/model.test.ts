import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { createRequestIds, formatAskId, type RequestId, timeOfRequestId } from '../../../src/ids.ts';
import type { Origin } from '../../../src/origin.ts';
import { approveAsk, denyAsk } from '../../../src/store/budgets/asks.ts';
import {
  type BudgetSettings,
  listBudgets,
  removeBudget,
  setBudget,
} from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import type { Admission, AdmissionResult, ReadmissionResult } from '../../../src/store/ledger/admission.ts';
import type { Ledger } from '../../../src/store/ledger/ledger.ts';
import type { SettleResult } from '../../../src/store/ledger/settlement.ts';
import { type BudgetPeriod, ON_LIMITS, type OnLimit } from '../../../src/store/ledger/terms.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  eventsOf,
  fileDatabase,
  memoryDatabase,
  openFast,
  PROPERTY_TIMEOUT_MS,
  readmissionOf,
  recordOf,
  runs,
  type SimulatedDaemon,
  startDaemon,
  type World,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import {
  ALL,
  type Ask,
  type Client,
  type Expected,
  nameOf,
  Oracle,
  type OracleScope,
  SHARED,
} from '../../support/simulator-oracle.ts';

/** The real thing: daemons, each with its ledger, and the command line on a connection of its own. */
interface Real {
  world: World;
  start: StartDaemon;
  admin: Db;
  daemons: (SimulatedDaemon & { db: Db })[];
  eventsSeen: number;
  /** The callers of requests, and how a late one becomes known. */
  callers: Map<RequestId, Caller>;
  /** Settlements that no transaction has committed, in order, by the place of their daemon. */
  late: Map<number, Late[]>;
  /** Requests that wait for their owner's answer. */
  waiting: { ask: Ask; admission: Admission; daemon: number }[];
  close(): void;
}

type StartDaemon = (db: Db, slot: number) => SimulatedDaemon;

interface Late {
  id: RequestId;
  cost: number;
  committed: Promise<SettleResult>;
}

interface Caller {
  origin: Origin;
  /** The place of the daemon that had it last. */
  daemon: number;
  tell?: (() => void) | undefined;
}

type Step = fc.AsyncCommand<Oracle, Real>;
type ValueOf<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

const LONG = Boolean(process.env.GW_LONG);
const PROJECTS = 3;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/New_York', 'Africa/Cairo', 'Pacific/Auckland'];
/** The first days of request ids (ids.ts). */
const EARLIEST = Date.UTC(2025, 0, 3);
const STARTS = ['2026-05-12T12:00Z', '2026-03-08T04:30Z', '2026-10-31T22:59Z', '2026-12-31T23:59:58Z'];

const project = fc.integer({ min: 1, max: PROJECTS });
const REPOS = ['/shop', '/blog'];
/** Two keys for each project. */
const keyOf = (projectId: number, k: number) => 2 * projectId - k;
const key = fc.constantFrom(0, 1);
const session = fc.constantFrom('', 's1', 's1', 's2');
/** What a budget is for; of a key, which of its project's. */
const scope = fc.constantFrom<[OracleScope['kind'], string]>(
  ...Array.from({ length: 6 }, (): [OracleScope['kind'], string] => ['', '']),
  ['key', '0'],
  ['key', '1'],
  ['session', 's1'],
  ['each', 'session'],
  ['each', 'key'],
);

/** A repository has no other scope. */
function scopeOf(
  projectId: number,
  ofRepo: string,
  [kind, value]: [OracleScope['kind'], string],
): OracleScope {
  // A key is of one project.
  if (ofRepo !== '' || (projectId > PROJECTS && kind === 'key')) return { kind: '', value: '' };
  return { kind, value: kind === 'key' ? String(keyOf(projectId, Number(value))) : value };
}

const settingsOf = ({ kind, value }: OracleScope): Pick<BudgetSettings, 'scope'> =>
  kind === '' ? {} : { scope: { kind, value } };

/** Mostly those of one, so that budgets and requests meet. */
const repo = fc.constantFrom('', '', REPOS[0] ?? '', REPOS[0] ?? '', REPOS[1] ?? '');
const money = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 4e9 }));

/** A command of the model; `value` is shown when a run fails. */
function step<T>(name: string, values: fc.Arbitrary<T>, run: (m: Oracle, r: Real, v: T) => Promise<void>) {
  return values.map(
    (value): Step => ({
      check: () => true,
      async run(model, real) {
        model.now = real.world.clock.now();
        await run(model, real, value);
        compare(model, real);
      },
      toString: () => `${name} ${JSON.stringify(value)}`,
    }),
  );
}

const admitValues = {
  kind: fc.constant('admit' as const),
  project,
  repo,
  key,
  session,
  /** The repository becomes known after the request was admitted, if ever. */
  late: fc.boolean(),
  amount: money,
  leastPercent: fc.constantFrom(0, 10, 50, 100),
  smallPercent: fc.constantFrom(0, 10, 100),
  cut: fc.boolean(),
  isFinal: fc.boolean(),
  /** How long it waits for its owner. */
  waitMs: fc.constantFrom(0, 60 * SECOND, 60 * SECOND),
};
const admit = fc.record(admitValues);
const settle = fc.record({
  kind: fc.constant('settle' as const),
  pick: fc.nat(),
  /** Of the held amount: 0 releases; more than 100 is what a provider may do and a hold should have prevented. */
  percent: fc.oneof(fc.constantFrom(0, 100), fc.integer({ min: 0, max: 100 }), fc.constantFrom(130)),
  outcome: fc.constantFrom('ok' as const, 'client_gone' as const, 'upstream_failed' as const),
  again: fc.boolean(),
});
const readmit = fc.record({
  kind: fc.constant('readmit' as const),
  pick: fc.nat(),
  amount: money,
  /** Of what was held: what the attempt that failed may have cost. */
  spentPercent: fc.constantFrom(0, 0, 10, 100),
  leastPercent: fc.constantFrom(0, 50, 100),
  smallPercent: fc.constantFrom(0, 10, 100),
  cut: fc.boolean(),
  /** There is no other way to go on. */
  only: fc.boolean(),
  again: fc.boolean(),
});
const record = fc.record({
  kind: fc.constant('record' as const),
  project,
  repo,
  key,
  session,
  late: fc.boolean(),
  cost: money,
});
const fail = fc.record({ kind: fc.constant('fail' as const), project });

type Command =
  | ValueOf<typeof admit>
  | ValueOf<typeof settle>
  | ValueOf<typeof readmit>
  | ValueOf<typeof record>
  | ValueOf<typeof fail>;

/** The commands of one event-loop turn of one daemon: they share a transaction. */
const batchOf = (commands: fc.Arbitrary<Command>) =>
  step(
    'batch',
    fc.record({ daemon: fc.nat(), turn: fc.array(commands, { minLength: 1, maxLength: 6 }) }),
    async (model, real, { daemon: pick, turn }) => {
      const daemon = at(real.daemons, pick);
      const { ledger } = daemon;
      const committed = commitLate(model, real, pick);
      const results: Promise<unknown>[] = committed.map(({ result }) => result);
      const expected: unknown[] = committed.map(({ isSettled }) => isSettled);
      const broken = turn.some((command) => command.kind === 'fail');
      model.beginBatch();
      for (const command of turn) {
        // A command that throws makes each of the turn run on its own: nobody waits behind another then.
        if (broken) model.beginBatch();
        if (command.kind === 'fail') {
          const failing = ledger.write(() => {
            daemon.db.prepare("INSERT INTO names (name) VALUES ('lost')").run();
            throw new Error('own fault');
          });
          results.push(failing.catch((error: Error) => error.message));
          expected.push('own fault');
        } else if (command.kind === 'admit') {
          const { amount, cut, isFinal } = command;
          const least = Math.ceil((amount * command.leastPercent) / 100);
          const small = Math.ceil((amount * command.smallPercent) / 100);
          const id = daemon.nextId();
          const origin = callFrom(real, id, pick % real.daemons.length, command);
          const ask: Ask = {
            id,
            projectId: command.project,
            slot: daemon.slot,
            repo: origin.repo,
            key: keyOf(command.project, command.key),
            session: command.session,
            amount,
            least,
            small,
            cut,
            isFinal,
            mayFall: id % 2 === 0,
            // Where its output can't be cut, it needs all of it.
            needed: cut ? Math.max(least, Math.ceil(amount / 2)) : amount,
            waitsUntil: real.world.clock.now() + command.waitMs,
          };
          const fitInto = (room: number) => (room >= least ? { amount: Math.min(room, amount) } : undefined);
          const admission = admissionOf(ask.id, amount, {
            projectId: ask.projectId,
            queueKey: `${ask.projectId} ${ask.repo} ${ask.key} ${ask.session}`,
            origin,
            ...clientOf(ask),
            least,
            small,
            isFinal,
            mayFallBack: ask.mayFall ? { before: undefined } : undefined,
            asking: { needed: () => ask.needed, expiresAt: () => ask.waitsUntil },
            ...(cut ? { fitInto } : {}),
            blockedRecord: () =>
              recordOf(id, {
                projectId: ask.projectId,
                status: 402,
                outcome: 'blocked',
                origin,
                ...clientOf(ask),
              }),
          });
          results.push(ledger.admit(admission).then(shown));
          const answer = model.admit(ask);
          if (answer.kind === 'ask')
            real.waiting.push({ ask, admission, daemon: pick % real.daemons.length });
          expected.push(answer);
        } else if (command.kind === 'settle') {
          const choices = command.again ? model.requests : model.requests.filter((r) => r.open);
          if (choices.length === 0) continue;
          const request = at(choices, command.pick);
          const costNanoUsd = Math.floor((request.amount * command.percent) / 100);
          if (request.open) takeOver(real, request.id, pick);
          const { projectId } = request;
          results.push(
            ledger
              .settle(
                recordOf(request.id, {
                  projectId,
                  costNanoUsd,
                  outcome: command.outcome,
                  ...originOf(real, request.id),
                  ...clientOf(request),
                }),
              )
              .then((result) => result.kind === 'settled'),
          );
          expected.push(model.settle(request.id, costNanoUsd, repoOf(real, request.id)));
        } else if (command.kind === 'readmit') {
          const choices = command.again ? model.requests : model.requests.filter((r) => r.open);
          if (choices.length === 0) continue;
          const request = at(choices, command.pick);
          const { id, projectId, amount: held, open } = request;
          const { amount, cut, only } = command;
          if (open) takeOver(real, id, pick);
          const least = Math.ceil((amount * command.leastPercent) / 100);
          const small = Math.ceil((amount * command.smallPercent) / 100);
          const spent = Math.floor((held * command.spentPercent) / 100);
          const fitInto = (room: number) => (room >= least ? { amount: Math.min(room, amount) } : undefined);
          const fields = { projectId, ...originOf(real, id), ...clientOf(request) };
          results.push(
            ledger
              .readmit(
                readmissionOf(id, amount, {
                  ...fields,
                  spent,
                  small,
                  allowed: request.allowed,
                  ...(cut ? { fitInto } : {}),
                  ...(only ? { least } : {}),
                }),
              )
              .then(shown),
          );
          const repo = repoOf(real, id);
          const answer = model.readmit({
            id,
            amount,
            spent,
            least,
            small,
            cut,
            only,
            slot: daemon.slot,
            repo,
          });
          expected.push(answer.kind === 'refused' ? { kind: answer.kind } : answer);
          if (answer.kind === 'refused' && answer.blocked) {
            // Its record follows at once, as each event of a refusal has one.
            const blocked = recordOf(id, { ...fields, costNanoUsd: spent, outcome: 'blocked' });
            results.push(ledger.settle(blocked).then((result) => result.kind === 'settled'));
            expected.push(model.settle(id, spent, repo));
          }
        } else {
          const id = daemon.nextId();
          const origin = callFrom(real, id, pick % real.daemons.length, command);
          const client = { key: keyOf(command.project, command.key), session: command.session };
          results.push(
            ledger.record(
              recordOf(id, {
                projectId: command.project,
                costNanoUsd: command.cost,
                outcome: 'refused',
                status: 503,
                origin,
                ...clientOf(client),
              }),
            ),
          );
          expected.push(undefined);
          model.addRecord({
            id,
            projectId: command.project,
            cost: command.cost,
            repo: origin.repo,
            ...client,
          });
        }
      }
      ledger.flush();
      expect(await Promise.all(results)).toEqual(expected);
    },
  );

const batch = batchOf(
  fc.oneof(
    { weight: 5, arbitrary: admit },
    { weight: 4, arbitrary: settle },
    { weight: 2, arbitrary: readmit },
    { weight: 1, arbitrary: record },
    { weight: 1, arbitrary: fail },
  ),
);

/** An answer ends: its settlement rides on the daemon's next transaction, unless what remains has to be read. */
const settleLate = step(
  'settle late',
  fc.record({
    daemon: fc.nat(),
    pick: fc.nat(),
    percent: fc.oneof(fc.constantFrom(0, 100), fc.integer({ min: 0, max: 100 }), fc.constantFrom(130)),
  }),
  async (model, real, { daemon: place, pick, percent }) => {
    const choices = model.requests.filter((r) => r.open);
    if (choices.length === 0) return;
    const request = at(choices, pick);
    const { id, projectId, amount, slot } = request;
    // Mostly the daemon that has admitted it: another does not know the hold.
    const index = place % 4 === 0 ? place % real.daemons.length : slot;
    const { ledger } = at(real.daemons, index);
    const cost = Math.floor((amount * percent) / 100);
    takeOver(real, id, index);
    const of = { ...originOf(real, id), ...clientOf(request) };
    const record = recordOf(id, { projectId, costNanoUsd: cost, ...of });
    const late = ledger.settleLate(record);
    if (late) {
      real.late.set(index, [...(real.late.get(index) ?? []), { id, cost, committed: late.committed }]);
      return;
    }
    const committed = commitLate(model, real, index);
    const settled = ledger.settle(record);
    ledger.flush();
    await expectSettled(committed);
    expect((await settled).kind === 'settled').toBe(model.settle(id, cost, repoOf(real, id)));
  },
);

/** A daemon is about to commit: its late settlements come first. Pass the result to `expectSettled` afterwards. */
function commitLate(model: Oracle, real: Real, daemon: number) {
  const index = daemon % real.daemons.length;
  const late = real.late.get(index) ?? [];
  real.late.delete(index);
  return late.map(({ id, cost, committed }) => ({
    result: committed.then(({ kind }) => kind === 'settled'),
    isSettled: model.settle(id, cost, repoOf(real, id)),
  }));
}

async function expectSettled(committed: ReturnType<typeof commitLate>): Promise<void> {
  const results = await Promise.all(committed.map(({ result }) => result));
  expect(results).toEqual(committed.map(({ isSettled }) => isSettled));
}

/** What of a result the model knows. */
/** A result without the limits behind an amount, which the model knows nothing of. */
const shown = ({ kind, ...rest }: AdmissionResult | ReadmissionResult) => {
  if (kind !== 'held') return { kind };
  const { fit: _fit, ...held } = rest as { fit?: unknown };
  return { kind, ...held };
};

/** A request that waits looks for its answer, and is admitted in its turn if there may be room; or its client hangs up. */
const look = step(
  'look for an answer',
  fc.record({ pick: fc.nat(), gone: fc.constantFrom(false, false, false, true) }),
  async (model, real, { pick, gone }) => {
    if (real.waiting.length === 0) return;
    const isAnswered = ({ ask }: { ask: Ask }) => model.stateOf(ask.id) !== 'open';
    const answered = real.waiting.filter(isAnswered);
    const waiter = at(answered.length > 0 && pick % 4 > 0 ? answered : real.waiting, pick);
    const { ask, admission, daemon } = waiter;
    const { ledger } = at(real.daemons, daemon);
    const submit = async <T>(result: Promise<T>): Promise<T> => {
      ledger.flush();
      return result;
    };
    const committed = commitLate(model, real, daemon);
    model.beginBatch();
    let expected: Expected | undefined;
    if (gone) {
      await submit(ledger.endAsk(ask.id));
      model.endQuestion(ask.id);
    } else {
      const seen = shown(await submit(ledger.look(admission)));
      expected = model.look(ask);
      expect(seen).toEqual(expected);
      if (expected.kind === 'wait') {
        const again = shown(await submit(ledger.admit(admission)));
        model.beginBatch();
        expected = model.admit(ask);
        expect(again).toEqual(expected);
      }
    }
    await expectSettled(committed);
    if (expected?.kind === 'ask' || expected?.kind === 'wait') return;
    real.waiting = real.waiting.filter((each) => each !== waiter);
    // As the gateway does, whatever has become of it.
    await submit(ledger.endAsk(ask.id));
    model.endQuestion(ask.id);
  },
);

/** The owner approves or denies a request, by another process or on the daemon's own connection. */
const answer = step(
  'answer',
  fc.record({ pick: fc.nat(), how: fc.constantFrom('once', 'once', 'raise', 'deny'), raise: money }),
  async (model, real, { pick, how, raise }) => {
    if (model.questions.length === 0) return;
    const open = model.questions.filter(({ state }) => state === 'open');
    const question = at(open.length > 0 && pick % 4 > 0 ? open : model.questions, pick);
    const { calendar, clock } = real.world;
    const context = { calendar, now: clock.now() };
    const id = formatAskId(question.ask.id);
    const raiseNanoUsd = how === 'raise' ? raise : undefined;
    const answered =
      how === 'deny'
        ? denyAsk(real.admin, id, context.now)
        : approveAsk(real.admin, { id, raiseNanoUsd }, context);
    const isAnswered = await answered.then(
      () => true,
      (error: unknown) => {
        if (error instanceof GwError) return false;
        throw error;
      },
    );
    const expected =
      how === 'deny' ? { deny: true as const } : { deny: false as const, raise: raiseNanoUsd ?? null };
    expect(isAnswered).toBe(model.answer(question, expected));
  },
);

const jobId = fc.integer({ min: 0, max: 5 }).map((n) => `job_${n}`);
const JOB_MS = 24 * HOUR;

/** A request's answer starts a job, which keeps its hold: mostly a new one. */
const beginJob = step(
  'begin a job',
  fc.record({ daemon: fc.nat(), pick: fc.nat(), jobId, again: fc.constantFrom(false, false, false, true) }),
  async (model, real, { daemon, pick, jobId, again }) => {
    const choices = again ? model.requests : model.requests.filter((r) => r.open);
    if (choices.length === 0) return;
    const { id: requestId } = at(choices, pick);
    const expiresAt = real.world.clock.now() + JOB_MS;
    const job = { requestId, provider: 'openai', jobId, expiresAt, record: { flags: 0, firstByteMs: null } };
    await inTurn(
      model,
      real,
      daemon,
      (ledger) => ledger.beginJob(job),
      () => model.beginJob(jobId, requestId, expiresAt),
    );
  },
);

/** A poll shows the end of a job, or that of one that has ended before. */
const endJob = step(
  'end a job',
  fc.record({ daemon: fc.nat(), jobId, percent: fc.constantFrom(0, 40, 100, 130) }),
  async (model, real, { daemon, jobId, percent }) => {
    const running = model.jobs.find(({ id }) => id === jobId);
    const held = model.requests.find(({ id, open }) => open && id === running?.requestId)?.amount ?? 0;
    const end = { how: 'completed' as const, costNanoUsd: Math.floor((held * percent) / 100) };
    await inTurn(
      model,
      real,
      daemon,
      (ledger) => ledger.endJob('openai', jobId, end),
      () => model.endJob(jobId, percent),
    );
  },
);

/** Nobody asks for hours. */
const expireJobs = step(
  'expire jobs after hours',
  fc.tuple(fc.nat(), fc.constantFrom(0, 1, 25)),
  async (model, real, [daemon, hours]) => {
    await setClock(model, real, real.world.clock.now() + hours * HOUR, daemon);
    await inTurn(
      model,
      real,
      daemon,
      (ledger) => ledger.expireJobs(),
      () => model.expireJobs(),
    );
  },
);

/** Runs a command of a daemon's ledger in a transaction, behind its late settlements. */
async function inTurn<T>(
  model: Oracle,
  real: Real,
  daemon: number,
  run: (ledger: Ledger) => Promise<T>,
  expected: () => T,
): Promise<void> {
  const { ledger } = at(real.daemons, daemon);
  const committed = commitLate(model, real, daemon);
  const result = run(ledger);
  ledger.flush();
  await expectSettled(committed);
  expect(await result).toEqual(expected());
}

/** Where a request comes from, as far as it is known when it is admitted. */
function callFrom(
  real: Real,
  id: RequestId,
  daemon: number,
  { repo: found, late }: { repo: string; late: boolean },
): Origin {
  const origin: Origin = { process: late ? '' : 'agent', repo: late ? '' : found, search: undefined };
  const caller: Caller = { origin, daemon };
  real.callers.set(id, caller);
  if (late) {
    origin.search = new Promise((resolve) => {
      caller.tell = () => {
        Object.assign(origin, { process: 'agent', repo: found, search: undefined });
        caller.tell = undefined;
        resolve();
      };
    });
  }
  return origin;
}

/** What the daemon looks for goes when it crashes. */
function takeOver(real: Real, id: RequestId, daemon: number): void {
  const caller = real.callers.get(id);
  if (caller) caller.daemon = daemon % real.daemons.length;
}

/** The fields of a request that say whose it is. */
const clientOf = ({ key, session }: Pick<Client, 'key' | 'session'>) => ({
  keyId: key,
  session: session || undefined,
});

const originOf = (real: Real, id: RequestId): { origin?: Origin } => {
  const caller = real.callers.get(id);
  return caller ? { origin: caller.origin } : {};
};
const repoOf = (real: Real, id: RequestId): string => real.callers.get(id)?.origin.repo ?? '';

/** A daemon finds the caller of a request: while it runs, or after it has been settled. */
const found = step('find a caller', fc.nat(), async (model, real, pick) => {
  const searching = [...real.callers].filter(([, { tell }]) => tell);
  if (searching.length === 0) return;
  const [id, caller] = at(searching, pick);
  caller.tell?.();
  // The ledger adds it to the record in its next batch.
  for (let turn = 0; turn < 4; turn++) await Promise.resolve();
  const committed = real.daemons.flatMap((_, index) => commitLate(model, real, index));
  for (const { ledger } of real.daemons) ledger.flush();
  await expectSettled(committed);
  model.find(id, caller.origin.repo);
});

/** `gw budget list`, by another process or on the daemon's own connection: it rolls periods. */
const list = step('list budgets', project, async (model, real, id) => {
  const { calendar, clock } = real.world;
  const standings = await listBudgets(real.admin, [id], { calendar, now: clock.now() });
  const budgets = model.touch(id);
  const figures = (each: boolean, [posted, pending]: [number, number]) =>
    // Of two members that are as full, either may be shown.
    each ? posted + pending : [posted, pending];
  expect(
    standings.map(({ budget, posted, pending }) => figures(budget.scopeKind === 'each', [posted, pending])),
  ).toEqual(budgets.map((budget) => figures(budget.scope.kind === 'each', model.standing(budget))));
});

/** Whose budget it is: a project's, or one that several share. */
const owner = fc.oneof(
  { weight: 4, arbitrary: project },
  { weight: 1, arbitrary: fc.constantFrom(SHARED, ALL) },
);

const setValues = {
  project: owner,
  repo,
  scope,
  period: fc.constantFrom<BudgetPeriod>('daily', 'weekly', 'monthly', 'rolling'),
  cap: fc.oneof(
    fc.integer({ min: 0, max: 30 }),
    fc.integer({ min: 0, max: 9e9 }),
    fc.constant(999_999_999_999_999),
  ),
  alert: fc.constantFrom(1, 33, 80, 100),
  windowMs: fc.constantFrom(60 * SECOND, 90 * SECOND, HOUR, 3 * HOUR),
  onLimit: fc.constantFrom<OnLimit>(...ON_LIMITS),
};
const setOf = (values: typeof setValues) =>
  step(
    'set budget',
    fc.record(values),
    async (model, real, { project: projectId, repo: ofRepo, scope: drawn, ...terms }) => {
      const { period, cap, alert, windowMs, onLimit } = terms;
      const ofScope = scopeOf(projectId, ofRepo, drawn);
      const { calendar, clock } = real.world;
      const settings = {
        period,
        capNanoUsd: cap,
        alertPercent: alert,
        onLimit,
        fallback: onLimit === 'fallback' ? 'b/m' : undefined,
        repo: ofRepo,
        ...settingsOf(ofScope),
        ...(period === 'rolling' ? { windowMs } : {}),
      };
      const standing = await setBudget(real.admin, projectRow(projectId), settings, {
        calendar,
        now: clock.now(),
      });
      const budget = model.setBudget({
        projectId,
        period,
        windowMs: period === 'rolling' ? windowMs : 0,
        repo: ofRepo,
        scope: ofScope,
        cap,
        alert,
        onLimit,
      });
      const expected = budget && model.standing(budget);
      if (ofScope.kind === 'each') {
        expect(standing.posted + standing.pending).toBe(expected && expected[0] + expected[1]);
      } else expect([standing.posted, standing.pending]).toEqual(expected);
    },
  );

const set = setOf(setValues);

const remove = step(
  'remove budget',
  fc.record({
    project: owner,
    repo,
    scope,
    period: fc.constantFrom<BudgetPeriod>('daily', 'weekly', 'monthly', 'rolling'),
  }),
  async (model, real, { project: projectId, repo: ofRepo, scope: drawn, period }) => {
    const ofScope = scopeOf(projectId, ofRepo, drawn);
    const now = real.world.clock.now();
    const removal = removeBudget(
      real.admin,
      projectRow(projectId),
      { period, repo: ofRepo, ...settingsOf(ofScope) },
      now,
    );
    const removed = await removal.then(
      () => true,
      () => false,
    );
    expect(removed).toBe(model.removeBudget(projectId, period, ofRepo, ofScope));
  },
);

/** Moves the clock, forward or back, and lets one daemon or the command line find out: what they do next is in turn. */
async function setClock(model: Oracle, real: Real, time: number, first = 1): Promise<void> {
  const now = Math.max(time, EARLIEST);
  real.world.clock.set(now);
  model.now = now;
  model.enter();
  // The archive does not wait for a longer search.
  const arrivals = new Map([...model.requests, ...model.otherRecords].map(({ id, at }) => [id, at]));
  for (const [id, caller] of real.callers)
    if (now - (arrivals.get(id) ?? timeOfRequestId(id)) >= 60 * SECOND) caller.tell = undefined;
  if (first % 4 > 0) return rollAt(model, real, first);
  await listBudgets(real.admin, [1], { calendar: real.world.calendar, now });
  model.touch(1);
}

const jumps = fc.oneof(
  fc.integer({ min: 0, max: 90 * SECOND }),
  fc.integer({ min: -3 * 60 * SECOND, max: 0 }),
  fc.integer({ min: 0, max: 30 * HOUR }),
  fc.integer({ min: -30 * HOUR, max: 0 }),
  fc.constantFrom(...[1, 24, 7 * 24, 40 * 24, 400 * 24].flatMap((hours) => [hours * HOUR, -hours * HOUR])),
);

const tick = step('move the clock by', fc.tuple(jumps, fc.nat()), async (model, real, [ms, first]) =>
  setClock(model, real, real.world.clock.now() + ms, first),
);

const midnight = step('move the clock to midnight and', fc.constantFrom(-1, 0, 1), async (model, real, ms) =>
  setClock(model, real, real.world.calendar.day(real.world.clock.now()).end + ms),
);

async function rollAt(model: Oracle, real: Real, pick: number): Promise<void> {
  const { ledger, sumNextHour, takeOver } = at(real.daemons, pick);
  const committed = commitLate(model, real, pick);
  const rolled = ledger.roll();
  // Requests are archived and hours are summed behind the back of what goes on; nothing that the model knows may change.
  const archived = takeOver();
  void sumNextHour(real.world.clock.now());
  ledger.flush();
  await rolled;
  await archived;
  await expectSettled(committed);
  model.rollAll();
}

const roll = step('roll', fc.nat(), rollAt);

/**
 * kill -9 and a new start in the same slot; another daemon, or the new one, closes what is open. A late settlement that
 * was not committed dies with its daemon, and its hold is booked in full.
 */
const crash = step(
  'crash',
  fc.record({ daemon: fc.nat(), closer: fc.nat() }),
  async (model, real, { daemon: pick, closer }) => {
    const index = pick % real.daemons.length;
    const { db, slot, ledger: dead } = at(real.daemons, index);
    dead.pause();
    const asked = model.questions.map(({ ask }) => ask);
    const lastId = Math.max(0, ...[...model.requests, ...model.otherRecords, ...asked].map(({ id }) => id));
    const restarted = { ...real.start(db, slot), db };
    restarted.nextId = createRequestIds(slot, () => real.world.clock.now(), lastId);
    real.daemons[index] = restarted;
    // What it was looking for dies with it.
    for (const caller of real.callers.values()) if (caller.daemon === index) caller.tell = undefined;
    real.late.delete(index);
    real.waiting = real.waiting.filter(({ daemon }) => daemon !== index);
    const { ledger } = at(real.daemons, closer);
    const committed = commitLate(model, real, closer);
    const closing = ledger.closeHolds(slot);
    ledger.flush();
    await expectSettled(committed);
    expect(await closing).toBe(model.closeHolds(slot));
  },
);

function at<T>(list: readonly T[], index: number): T {
  const found = list[index % list.length];
  if (found === undefined) throw new Error('an empty list has no elements');
  return found;
}

const projectRow = (id: number) => ({
  ...(id === SHARED
    ? { id: 1, name: 'p1,p2', projects: '[1,2]' }
    : id === ALL
      ? { id: 1, name: '@all', projects: '*' }
      : { id, name: `p${id}` }),
  plan: 'pro' as const,
  createdAt: 0,
  pausedAt: null,
});

/** Compares everything that is stored with everything that should be. */
function compare(model: Oracle, real: Real): void {
  const db = real.admin;
  checkDatabase(db);
  expect(storedBalances(db)).toEqual(expectedBalances(model));
  const holds = db.prepare('SELECT id, hold_nano_usd FROM open_holds ORDER BY id').raw().all();
  const open = model.requests.filter((r) => r.open).sort((a, b) => a.id - b.id);
  expect(holds).toEqual(open.map((r) => [r.id, r.amount]));
  const records = db
    .prepare(
      'SELECT r.id, cost_nano_usd, n.name FROM request_log r JOIN names n ON n.id = r.repo_id ORDER BY r.id',
    )
    .raw()
    .all();
  const resolved = [...model.requests.filter((r) => !r.open), ...model.otherRecords].sort(
    (a, b) => a.id - b.id,
  );
  expect(records).toEqual(resolved.map((r) => [r.id, r.cost, r.repo]));
  const questions = db.prepare('SELECT request_id, state, allowed_nano_usd FROM asks ORDER BY request_id');
  expect(questions.raw().all()).toEqual(
    model.questions
      .map(({ ask, state, allowed }) => [ask.id, state, allowed] as const)
      .sort(([a], [b]) => a - b),
  );
  const events = eventsOf(db).slice(real.eventsSeen);
  real.eventsSeen += events.length;
  const told = events.map(({ type, data }) =>
    type === 'budget.reset' ? `${type} ${data.budget_id} +${data.skipped}` : `${type} ${data.budget_id}`,
  );
  expect(told.sort()).toEqual(model.events.sort());
  model.events = [];
}

function storedBalances(db: Db): Record<string, [number, number]> {
  const rows = db
    .prepare<[], [string, number, number, number]>(
      `SELECT CASE b.projects WHEN '' THEN 'p' || b.project_id WHEN '*' THEN '@all' ELSE 'p1,p2' END || '/' || b.period ||
         iif(b.repo <> '', '@' || b.repo, iif(b.scope_kind <> '', '@' || b.scope_kind || ':' || b.scope_value, '')) AS name,
       start, sum(posted_nano_usd), sum(pending_nano_usd) FROM budget_periods JOIN budgets b ON b.id = budget_id
       WHERE posted_nano_usd > 0 OR pending_nano_usd > 0 GROUP BY name, start`,
    )
    .raw()
    .all() as unknown as [string, number, number, number][];
  return Object.fromEntries(
    rows.map(([name, start, posted, pending]) => [`${name} ${start}`, [posted, pending]]),
  );
}

function expectedBalances(model: Oracle): Record<string, [number, number]> {
  const sums: Record<string, [number, number]> = {};
  for (const { budget, start, amount, actual } of model.entries) {
    const key = `${nameOf(budget)} ${start}`;
    sums[key] ??= [0, 0];
    const sum = sums[key];
    if (actual === null) sum[1] += amount;
    else sum[0] += actual;
  }
  return Object.fromEntries(
    Object.entries(sums).filter(([, [posted, pending]]) => posted > 0 || pending > 0),
  );
}

function addKeys(db: Db): void {
  const insert = db.prepare(
    "INSERT INTO keys (id, project_id, hash, hint, admin, created_at) VALUES (?, ?, ?, 'hint', 0, 0)",
  );
  for (let projectId = 1; projectId <= PROJECTS; projectId++)
    for (const k of [0, 1]) insert.run(keyOf(projectId, k), projectId, Buffer.from(`${projectId} ${k}`));
}

function addDaemons(db: Db, daemons: number): void {
  const insert = db.prepare(
    "INSERT INTO daemons (slot, instance_id, pid, lock_path, started_at) VALUES (?, ?, ?, '', 0)",
  );
  for (let slot = 0; slot < daemons; slot++) insert.run(slot, `daemon ${slot}`, process.pid);
}

async function open(daemons: number, at: string, timezone: string, breakIt: Break): Promise<Real> {
  const world = createWorld({ startMs: Date.parse(at), timezone });
  const start: StartDaemon = (db, slot) => breakIt(startDaemon(db, world, slot), db);
  if (daemons === 1) {
    const db = await memoryDatabase();
    addProjects(db, PROJECTS);
    addKeys(db);
    addDaemons(db, daemons);
    return {
      world,
      admin: db,
      start,
      daemons: [{ ...start(db, 0), db }],
      eventsSeen: 0,
      callers: new Map(),
      late: new Map(),
      waiting: [],
      close: () => db.close(),
    };
  }
  const directory = mkdtempSync(join(tmpdir(), 'gw-model-'));
  const path = await fileDatabase(directory);
  const admin = await openFast(path);
  addProjects(admin, PROJECTS);
  addKeys(admin);
  addDaemons(admin, daemons);
  const connections = await Promise.all(Array.from({ length: daemons }, () => openFast(path)));
  return {
    world,
    admin,
    start,
    daemons: connections.map((db, slot) => ({ ...start(db, slot), db })),
    eventsSeen: 0,
    callers: new Map(),
    late: new Map(),
    waiting: [],
    close() {
      for (const db of [...connections, admin]) db.close();
      rmSync(directory, { recursive: true });
    },
  };
}

const steps = [
  ...[batch, batch, batch, batch, batch, batch, set, set, remove, found, found],
  ...[settleLate, settleLate, list, tick, tick, midnight, roll, crash],
];

/** Requests of one project with little left, so that most are asked about. */
const asked = batchOf(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        ...admitValues,
        project: fc.constant(1),
        repo: fc.constant(''),
        late: fc.constant(false),
        amount: fc.integer({ min: 1, max: 40 }),
        leastPercent: fc.constantFrom(50, 100),
        isFinal: fc.constant(true),
        waitMs: fc.constantFrom(0, 60 * SECOND, 60 * SECOND, 60 * SECOND),
      }),
    },
    { weight: 1, arbitrary: settle },
    {
      weight: 1,
      arbitrary: readmit.map((command) => ({ ...command, amount: command.amount % 40 })),
    },
  ),
);
const setAsking = setOf({
  ...setValues,
  project: fc.constant(1),
  repo: fc.constant(''),
  cap: fc.integer({ min: 0, max: 30 }),
  onLimit: fc.constantFrom<OnLimit>('ask', 'ask', 'ask', 'block'),
});
/** It counts every request of its project, so that most are asked about. */
const askingDaily = setOf({
  ...setValues,
  project: fc.constant(1),
  repo: fc.constant(''),
  scope: fc.constant<[OracleScope['kind'], string]>(['', '']),
  period: fc.constant<BudgetPeriod>('daily'),
  cap: fc.integer({ min: 0, max: 10 }),
  onLimit: fc.constant<OnLimit>('ask'),
});
const wait = step('wait', fc.integer({ min: 0, max: 40 * SECOND }), async (model, real, ms) =>
  setClock(model, real, real.world.clock.now() + ms),
);
const askSteps = [
  asked,
  asked,
  asked,
  look,
  look,
  look,
  look,
  answer,
  answer,
  answer,
  wait,
  crash,
  remove,
  setAsking,
  midnight,
];

/** Caps that a few requests fill, so that what was spent in the future leaves no room now, or for periods to come. */
const setSmall = setOf({
  ...setValues,
  project: fc.constant(1),
  repo: fc.constant(''),
  cap: fc.integer({ min: 0, max: 120 }),
  onLimit: fc.constant<OnLimit>('block'),
});
const leap = step(
  'move the clock by days',
  fc.tuple(fc.constantFrom(1, 1, 2, 9, -1, -1, -2, -9), fc.nat()),
  async (model, real, [days, first]) =>
    setClock(model, real, real.world.clock.now() + days * 24 * HOUR, first),
);
const clockSteps = [asked, asked, asked, asked, leap, leap, leap, tick, crash, settleLate, list, setSmall];

/** Replaces a part of a daemon by a defect. */
type Break = (daemon: SimulatedDaemon, db: Db) => SimulatedDaemon;

const whole: Break = (daemon) => daemon;

interface History {
  /** Sets budgets first: without them there is little at stake. */
  budgets: fc.Arbitrary<Step[]>;
  commands: fc.Arbitrary<Step>[];
}

const GENERAL: History = { budgets: fc.array(set, { maxLength: 5 }), commands: steps };
/** Crashes between the end of an answer and the transaction that books it. */
const LATE: History = { ...GENERAL, commands: [batch, batch, settleLate, settleLate, list, crash] };
const ASKING: History = {
  budgets: fc.tuple(askingDaily, setAsking).map((budgets) => [...budgets]),
  commands: askSteps,
};

/** Callers are known from the start: a job's record has the one that its hold had. */
const JOBS: History = {
  budgets: fc.array(setSmall, { minLength: 1, maxLength: 2 }),
  commands: [asked, asked, beginJob, beginJob, beginJob, endJob, endJob, expireJobs, crash, leap],
};

const CLOCK: History = {
  budgets: fc.array(setSmall, { minLength: 1, maxLength: 3 }),
  commands: clockSteps,
};

function model(daemons: number, breakIt: Break = whole, history = GENERAL) {
  return fc.asyncProperty(
    fc.constantFrom(...STARTS),
    fc.constantFrom(...ZONES),
    history.budgets,
    fc.commands(history.commands, { maxCommands: 25 }),
    async (start, timezone, budgets, commands) => {
      const real = await open(daemons, start, timezone, breakIt);
      try {
        const setup = () => ({ model: new Oracle(real.world.calendar, real.world.clock.now()), real });
        await fc.asyncModelRun(setup, [...budgets, ...commands]);
      } finally {
        for (const { ledger } of real.daemons) ledger.pause();
        real.close();
        // Let go of the turn's end that each flush left behind: thousands of runs are one turn otherwise.
        await setImmediate();
      }
    },
  );
}

describe('the ledger does what its plainest description does', () => {
  test(
    'with one daemon',
    async () => {
      await fc.assert(model(1), runs(LONG ? 0.5 : 0.25));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test(
    'with three daemons on one file',
    async () => {
      await fc.assert(model(3), runs(LONG ? 0.25 : 0.1));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test(
    'with owners who are asked',
    async () => {
      await fc.assert(model(1, whole, ASKING), runs(0.03));
      await fc.assert(model(2, whole, ASKING), runs(0.01));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test(
    'with a clock that is often wrong',
    async () => {
      await fc.assert(model(1, whole, CLOCK), runs(0.04));
      await fc.assert(model(2, whole, CLOCK), runs(0.01));
    },
    PROPERTY_TIMEOUT_MS,
  );

  test(
    'with jobs that outlive their daemons',
    async () => {
      await fc.assert(model(1, whole, JOBS), runs(0.03));
      await fc.assert(model(2, whole, JOBS), runs(0.01));
    },
    PROPERTY_TIMEOUT_MS,
  );

  const afterJob = (name: 'beginJob' | 'endJob' | 'expireJobs', sql: string): Break => {
    return (daemon, db) => ({
      ...daemon,
      ledger: {
        ...daemon.ledger,
        [name]: (...values: never[]) => {
          const run = daemon.ledger[name] as (...values: never[]) => Promise<unknown>;
          const result = run(...values);
          daemon.ledger.flush();
          db.prepare(sql).run();
          return result;
        },
      },
    });
  };

  test.each<[string, Break]>([
    ['forgets a job when its daemon dies', afterJob('beginJob', 'DELETE FROM jobs')],
    ['gives a job no time', afterJob('beginJob', 'UPDATE jobs SET expires_at = created_at')],
    [
      'frees the hold of a job',
      afterJob('beginJob', 'UPDATE budget_periods SET pending_nano_usd = 0 WHERE pending_nano_usd > 0'),
    ],
    [
      'books a job twice',
      afterJob('endJob', 'UPDATE budget_periods SET posted_nano_usd = 2 * posted_nano_usd'),
    ],
  ])(
    'and a ledger fails that %s',
    async (_, breakIt) => {
      const history = model(1, breakIt, JOBS);
      await expect(fc.assert(history, { ...runs(0.5), endOnFailure: true })).rejects.toThrow();
    },
    PROPERTY_TIMEOUT_MS,
  );

  const afterRoll = (sql: string): Break => {
    return (daemon, db) => ({
      ...daemon,
      ledger: {
        ...daemon.ledger,
        async roll() {
          const rolled = daemon.ledger.roll();
          daemon.ledger.flush();
          await rolled;
          db.prepare(sql).run();
        },
      },
    });
  };

  // The same faults in a moment, and in one kind of period: clock.test.ts.
  test.runIf(LONG).each<[string, Break]>([
    [
      'stays in a period that began in the future',
      afterRoll("UPDATE meta SET value = 0 WHERE key = 'clock_latest'"),
    ],
    [
      'grants again what was spent early',
      afterRoll('UPDATE budgets SET early_start = NULL WHERE early_start IS NOT NULL'),
    ],
    ['forgets how much was spent early', afterRoll('UPDATE budget_periods SET early_nano_usd = 0')],
    [
      'dates windows to come to the present',
      afterRoll(`UPDATE budget_periods SET posted_nano_usd = 0 WHERE rolling = 1
       AND start > (SELECT value FROM meta WHERE key = 'clock_latest') + 60000`),
    ],
  ])(
    'and a ledger fails that %s',
    async (_, breakIt) => {
      const history = model(1, breakIt, CLOCK);
      await expect(fc.assert(history, { ...runs(4), endOnFailure: true })).rejects.toThrow();
    },
    PROPERTY_TIMEOUT_MS,
  );

  const withLate = (settleLate: (ledger: Ledger, db: Db) => Ledger['settleLate']): Break => {
    return (daemon, db) => ({
      ...daemon,
      ledger: { ...daemon.ledger, settleLate: settleLate(daemon.ledger, db) },
    });
  };

  const beforeLook = (sql: string): Break => {
    return (daemon, db) => ({
      ...daemon,
      ledger: {
        ...daemon.ledger,
        look(admission) {
          db.prepare(sql).run();
          return daemon.ledger.look(admission);
        },
      },
    });
  };

  test.each<[string, Break]>([
    [
      'loses late settlements',
      withLate(() => () => ({
        remaining: null,
        committed: Promise.resolve({ kind: 'settled', remaining: null }),
      })),
    ],
    [
      'frees the hold of a late settlement before its cost is booked',
      withLate((ledger, db) => (record) => {
        const late = ledger.settleLate(record);
        if (late) db.prepare('DELETE FROM journal WHERE id = ?').run(record.id);
        return late;
      }),
    ],
    [
      'leaves a crash nothing to book',
      withLate((ledger, db) => (record) => {
        const late = ledger.settleLate(record);
        if (late) db.prepare('UPDATE journal SET slot = 99 WHERE id = ?').run(record.id);
        return late;
      }),
    ],
    [
      'books a late settlement at once',
      withLate((ledger) => (record) => {
        void ledger.settle(record);
        ledger.flush();
        return ledger.settleLate(record);
      }),
    ],
  ])(
    'and a ledger fails that %s',
    async (_, breakIt) => {
      const history = model(1, breakIt, LATE);
      await expect(fc.assert(history, { ...runs(4), endOnFailure: true })).rejects.toThrow();
    },
    PROPERTY_TIMEOUT_MS,
  );

  test.each<[string, Break]>([
    [
      'holds more than the owner approved',
      beforeLook("UPDATE asks SET allowed_nano_usd = allowed_nano_usd + 1 WHERE state = 'approved'"),
    ],
    [
      'leaves questions open after a crash',
      (daemon, db) => ({
        ...daemon,
        ledger: {
          ...daemon.ledger,
          async closeHolds(slot) {
            const open = db.prepare("SELECT request_id FROM asks WHERE state = 'open'").pluck().all();
            const closing = daemon.ledger.closeHolds(slot);
            daemon.ledger.flush();
            for (const id of open) db.prepare("UPDATE asks SET state = 'open' WHERE request_id = ?").run(id);
            return closing;
          },
        },
      }),
    ],
  ])(
    'and a ledger fails that %s',
    async (_, breakIt) => {
      const history = model(1, breakIt, ASKING);
      await expect(fc.assert(history, { ...runs(1), endOnFailure: true })).rejects.toThrow();
    },
    PROPERTY_TIMEOUT_MS,
  );
});
