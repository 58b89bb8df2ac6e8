import fc from 'fast-check';
import { expect, test } from 'vitest';
import { timeOfRequestId } from '../../../src/ids.ts';
import { backtest } from '../../../src/store/backtest/backtest.ts';
import { pastRequests } from '../../../src/store/backtest/past-requests.ts';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import { FLAGS, type RecordedNeed } from '../../../src/store/ledger/record.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  eventsOf,
  memoryDatabase,
  NOON,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
} from '../../support/simulator.ts';

const HOUR = 3_600_000;
const COMMIT_MS = 2;

const needOf = (amount: number): RecordedNeed => ({
  inputTokens: 1,
  inputBound: 'bytes',
  outputTokens: 1,
  outputAskedTokens: null,
  inputNanoUsd: amount,
  outputNanoUsd: 0,
  feesNanoUsd: 0,
});

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('admit' as const), amount: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick: fc.nat(),
      // A provider may bill more than was held.
      percent: fc.integer({ min: 0, max: 150 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 9 * HOUR, 12 * HOUR - 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('archive' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Plays a history under a daily cap, and returns the ids that were refused and the history. */
async function play(steps: Step[], cap: number) {
  const db = await memoryDatabase();
  addProjects(db, 1);
  const world = createWorld();
  const { clock, calendar } = world;
  const { ledger, nextId, takeOver } = startDaemon(db, world, 0);
  const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
  await setBudget(db, project, { period: 'daily', capNanoUsd: cap }, { calendar, now: NOON });
  const running: { id: number; amount: number; heldAt: number }[] = [];
  const refused: number[] = [];
  const end = async ({ id, amount, heldAt }: (typeof running)[number], percent: number) => {
    // The gateway hears of a hold once it is committed, and sends the request then.
    clock.set(Math.max(clock.now(), heldAt + COMMIT_MS));
    const timings = { held: heldAt + COMMIT_MS - timeOfRequestId(id) };
    const costNanoUsd = Math.floor((amount * percent) / 100);
    await ledger.settle(
      recordOf(id, { costNanoUsd, timings, durationMs: clock.now() - timeOfRequestId(id) }),
    );
  };
  for (const each of steps) {
    if (each.kind === 'wait') clock.set(clock.now() + each.ms);
    else if (each.kind === 'archive') await takeOver();
    else if (each.kind === 'settle') {
      const [request] = running.splice(each.pick % (running.length || 1), 1);
      if (request) await end(request, each.percent);
    } else {
      const { amount } = each;
      const id = nextId();
      const blockedRecord = () =>
        recordOf(id, { status: 402, outcome: 'blocked', durationMs: 0, need: needOf(amount) });
      const { kind } = await ledger.admit(
        admissionOf(id, amount, { needOf: () => needOf(amount), blockedRecord }),
      );
      if (kind === 'blocked') refused.push(id);
      if (kind === 'held') running.push({ id, amount, heldAt: clock.now() });
    }
  }
  for (const request of running) await end(request, 100);
  // Imported requests, and those of a subscription, count in no budget.
  const rest = { costNanoUsd: 1_000, need: needOf(1_000) };
  await ledger.record(recordOf(nextId(), { ...rest, source: 'imported' }));
  await ledger.record(recordOf(nextId(), { ...rest, flags: FLAGS.not_billed }));
  return { db, calendar, refused, until: clock.now() + 1 };
}

type History = Awaited<ReturnType<typeof play>>;

async function replay({ db, calendar, until }: History, cap: number) {
  const refused: number[] = [];
  const since = calendar.day(NOON).start;
  const report = await backtest(
    pastRequests(db, { projectIds: [1], since, until }),
    { projectId: 1, capNanoUsd: cap, period: 'daily', since },
    { calendar, onBlocked: ({ id }) => refused.push(id) },
  );
  return { ...report, refused };
}

test(
  'a backtest of what the ledger admitted under a cap refuses exactly what it refused',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 60 }),
        fc.integer({ min: 20, max: 200 }),
        async (steps, cap) => {
          const history = await play(steps, cap);
          const { exact, refused, periods } = await replay(history, cap);
          expect(refused.sort()).toEqual(history.refused.sort());
          expect(exact).toBe(true);
          const alerts = eventsOf(history.db, 'budget.threshold_reached').length;
          expect(periods.filter(({ alertAt }) => alertAt !== undefined)).toHaveLength(alerts);
          const spent = history.db.prepare('SELECT sum(posted_nano_usd) FROM budget_periods').pluck().get();
          expect(periods.reduce((sum, each) => sum + each.spentNanoUsd, 0)).toBe(spent ?? 0);
          history.db.close();
        },
      ),
      runs(0.1),
    );
  },
  PROPERTY_TIMEOUT_MS,
);

test('a lower cap says when it would have stopped, and what that would have saved', async () => {
  const spend = [
    { kind: 'admit', amount: 40 },
    { kind: 'settle', pick: 0, percent: 100 },
    { kind: 'wait', ms: 1 },
  ] as const;
  const history = await play([...spend, ...spend, ...spend], 1_000);
  const { periods } = await replay(history, 50);
  expect(periods).toMatchObject([
    {
      spentNanoUsd: 40,
      alertAt: NOON + COMMIT_MS,
      stoppedAt: NOON + COMMIT_MS + 1,
      blockedRequests: 2,
      savedNanoUsd: 80,
    },
  ]);
});

test('a hold just before midnight counts on the day that the ledger counted it on', async () => {
  const beforeMidnight = { kind: 'wait', ms: 12 * HOUR - 1 } as const;
  const admit = { kind: 'admit', amount: 40 } as const;
  const settle = { kind: 'settle', pick: 0, percent: 100 } as const;
  const history = await play([beforeMidnight, admit, settle, { kind: 'wait', ms: HOUR }, admit, settle], 50);
  expect(history.refused).toEqual([]);
  const { refused, periods } = await replay(history, 50);
  expect(refused).toEqual([]);
  expect(periods.map(({ spentNanoUsd }) => spentNanoUsd)).toEqual([40, 40]);
});
