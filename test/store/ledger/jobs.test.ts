import fc from 'fast-check';
import { expect, test } from 'vitest';
import { setBudget } from '../../../src/store/budgets/budgets.ts';
import type { Db } from '../../../src/store/database/open.ts';
import type { JobEnd } from '../../../src/store/ledger/settlement.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  memoryDatabase,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  runs,
  startDaemon,
} from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop } from '../../support/simulator-shop.ts';

const CAP = 100;
const RECORD = { flags: 0, firstByteMs: null };
const HOUR = 3_600_000;
/** A job's time. */
const JOB_MS = 24 * HOUR;

const amount = fc.integer({ min: 1, max: 60 });
const nth = fc.nat({ max: 7 });
const move = fc.oneof(
  // `crash`: the daemon dies between the provider's answer and the job's row. `as`: the id of an earlier job.
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      amount,
      crash: fc.constantFrom(false, false, false, true),
      as: fc.option(nth, { freq: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('poll' as const),
      nth,
      how: fc.constantFrom('completed' as const, 'failed' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('request' as const), amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), hours: fc.constantFrom(1, 5, 25) }) },
);
type Move = typeof move extends fc.Arbitrary<infer Value> ? Value : never;

/** A job as it should be: its hold, what it cost in the end, and when its time is over. */
interface Expected {
  requestId: number;
  jobId: string;
  amount: number;
  cost: number | undefined;
  expiresAt: number;
}

let kills = 0;

/** Jobs on a lifetime budget, and daemons that are killed while they run. */
const keepsItsJobs = (change: (db: Db) => void = () => {}) =>
  fc.asyncProperty(fc.array(move, { maxLength: 25 }), async (moves: Move[]) => {
    const db = await memoryDatabase();
    change(db);
    addProjects(db, 1);
    const world = createWorld();
    const { clock, calendar } = world;
    const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
    await setBudget(db, project, { period: 'lifetime', capNanoUsd: CAP }, { calendar, now: clock.now() });
    let daemon = startDaemon(db, world, 0);
    const jobs: Expected[] = [];
    let spent = 0;

    async function run<T>(asked: Promise<T>): Promise<T> {
      daemon.ledger.flush();
      return asked;
    }

    /** The next daemon closes what the dead one held. */
    async function kill() {
      kills++;
      const { slot } = daemon;
      daemon = startDaemon(db, world, 1 - slot);
      await run(daemon.ledger.closeHolds(slot));
    }

    async function start({ amount, crash, as }: Extract<Move, { do: 'start' }>) {
      const requestId = daemon.nextId();
      const held = await run(daemon.ledger.admit(admissionOf(requestId, amount)));
      if (held.kind !== 'held') return;
      if (crash) {
        // Nobody knows what the provider does with it.
        spent += amount;
        return kill();
      }
      const earlier = jobs[(as ?? 0) % Math.max(1, jobs.length)];
      const jobId = as === null || !earlier ? `job_${jobs.length}` : earlier.jobId;
      const expiresAt = clock.now() + JOB_MS;
      const isFree = !jobs.some((job) => job.jobId === jobId && job.cost === undefined);
      expect(
        await run(
          daemon.ledger.beginJob({ requestId, provider: 'openai', jobId, expiresAt, record: RECORD }),
        ),
      ).toBe(isFree);
      if (isFree) jobs.push({ requestId, jobId, amount, cost: undefined, expiresAt });
      else {
        spent += amount;
        await run(daemon.ledger.settle(recordOf(requestId, { costNanoUsd: amount })));
      }
    }

    async function poll(jobId: string, how: JobEnd['how']) {
      const running = jobs.find((job) => job.jobId === jobId && job.cost === undefined);
      expect(await run(daemon.ledger.endJob('openai', jobId, { how }))).toBe(running !== undefined);
      if (!running) return;
      running.cost = how === 'failed' ? 0 : running.amount;
      spent += running.cost;
    }

    async function wait(hours: number) {
      clock.set(clock.now() + hours * HOUR);
      const over = jobs.filter((job) => job.cost === undefined && job.expiresAt <= clock.now());
      expect(await run(daemon.ledger.expireJobs())).toBe(over.length);
      for (const job of over) {
        job.cost = job.amount;
        spent += job.amount;
      }
    }

    const balance = db.prepare<
      [],
      { posted: number; pending: number }
    >(`SELECT sum(posted_nano_usd) AS posted,
      sum(pending_nano_usd) AS pending FROM budget_periods`);
    for (const step of moves) {
      if (step.do === 'start') await start(step);
      else if (step.do === 'poll') await poll(`job_${step.nth}`, step.how);
      else if (step.do === 'kill') await kill();
      else if (step.do === 'wait') await wait(step.hours);
      else {
        const id = daemon.nextId();
        const { kind } = await run(daemon.ledger.admit(admissionOf(id, step.amount)));
        if (kind === 'held') {
          spent += step.amount;
          await run(daemon.ledger.settle(recordOf(id, { costNanoUsd: step.amount })));
        }
      }
      const pending = jobs.reduce((sum, job) => sum + (job.cost === undefined ? job.amount : 0), 0);
      const { posted: now = 0, pending: held = 0 } = balance.get() ?? {};
      expect([now ?? 0, held ?? 0]).toEqual([spent, pending]);
      expect(spent + pending).toBeLessThanOrEqual(CAP);
      checkDatabase(db);
    }
    const record = db.prepare<[number], { cost: number }>(
      'SELECT cost_nano_usd AS cost FROM request_log WHERE id = ?',
    );
    for (const { requestId, cost } of jobs)
      expect(record.all(requestId)).toEqual(cost === undefined ? [] : [{ cost }]);
    db.close();
  });

test('only a request with a hold leaves it to a job', async () => {
  const shop = await openShop();
  const { ledger } = shop.daemon;
  const job = { provider: 'openai', jobId: 'job_1', expiresAt: shop.clock.now() + JOB_MS, record: RECORD };
  expect(await ledger.beginJob({ ...job, requestId: shop.daemon.nextId() })).toBe(false);
  const { id } = await shop.admit(5);
  expect(await ledger.beginJob({ ...job, requestId: id })).toBe(true);
});

test(
  'jobs outlive daemons, pass no cap, and are booked once',
  async () => {
    kills = 0;
    await fc.assert(keepsItsJobs(), runs(0.1));
    expect(kills).toBeGreaterThan(20);
  },
  PROPERTY_TIMEOUT_MS,
);

/** Changes a statement of the ledger. */
const changed = (from: string, to: string) => (db: Db) => {
  const prepare = db.prepare.bind(db);
  db.prepare = ((sql: string) => prepare(sql.replace(from, to))) as typeof db.prepare;
};

test.each([
  [
    'a dead daemon took its jobs with it',
    changed('AND NOT EXISTS (SELECT 1 FROM jobs WHERE request_id = h.id)', ''),
  ],
  [
    'a job stayed after its end',
    changed('DELETE FROM jobs WHERE request_id = ?', 'DELETE FROM jobs WHERE request_id = -?'),
  ],
  ['two requests had one job', changed('INSERT OR IGNORE INTO jobs', 'INSERT OR REPLACE INTO jobs')],
  ['jobs were held forever', changed('expires_at <= ?', 'expires_at < 0 * ?')],
])('it would notice if %s', async (_, change) => {
  await expect(fc.assert(keepsItsJobs(change), { ...runs(0.8), endOnFailure: true })).rejects.toThrow(
    'Property failed',
  );
});
