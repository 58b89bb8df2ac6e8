import { test } from 'vitest';
import { flagsOf } from '../../../src/store/ledger/record.ts';
import type { JobEnd } from '../../../src/store/ledger/settlement.ts';
import { createTeamTerms } from '../../../src/store/ledger/team-terms.ts';
import type { BudgetTerms } from '../../../src/store/ledger/terms.ts';
import { listRequests } from '../../../src/store/requests/request-log.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { expectFrozen, type Row, variationsOf } from '../../support/frozen.ts';
import { memoryDatabase, NOON, recordOf, startDaemon } from '../../support/simulator.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const [HOUR, DAY] = [3_600_000, 86_400_000];

/** A request's row, with names in place of their ids, without what is empty. */
function rowOf({ db }: Shop, id: number): Record<string, unknown> {
  const nameOf = db.prepare<[unknown], string>('SELECT name FROM names WHERE id = ?').pluck();
  const row = db.prepare<[number], Record<string, unknown>>('SELECT * FROM journal WHERE id = ?').get(id);
  const named = /^(endpoint|provider|model|asked_model|process|repo|agent|agent_version)_id$/;
  return Object.fromEntries(
    Object.entries(row ?? {})
      .filter(([name, value]) => name !== 'id' && value !== null && value !== 0 && value !== '')
      .map(([name, value]) => [name, named.test(name) ? nameOf.get(value) : value]),
  );
}

const HEAD = {
  stream: true,
  agent: 'codex',
  agentVersion: '1.2',
  session: 's',
  labels: { team: 'x' },
  origin: { process: 'node', repo: 'shop' },
  need: {
    inputTokens: 10.4,
    inputBound: 'exact',
    outputTokens: 20.5,
    outputAskedTokens: 30,
    inputNanoUsd: 1,
    outputNanoUsd: 2,
    feesNanoUsd: 3,
  },
};

const RECORD = {
  provider: 'anthropic',
  model: 'claude',
  flags: 2,
  usage: { ...NO_USAGE, inputTokens: 11, cacheWriteTokens: 5, cacheWrite1hTokens: 7, outputTokens: 12 },
  costNanoUsd: 40,
  savedTokens: 6,
  savedNanoUsd: 8,
  durationMs: 1_234.5,
  firstByteMs: 99.6,
  requestBytes: 512,
  detail: { attempts: 2 },
  lowered: { asked: 100, sent: 50.5 },
  timings: { body: 0.5, compressed: 1, held: 1.5, sent: 2 },
  upstreamMessageId: 'msg',
  upstreamRequestId: 'req',
  missed: { tokens: 4, nanoUsd: 9, cause: 'idle_past_ttl' },
  origin: { process: 'bun', repo: 'site' },
};

const labelsOf = (labels: object | undefined) => labels && new Map(Object.entries(labels));

/** Holds 100 for a request, which ends three seconds later. */
async function recorded(head: Partial<typeof HEAD>, record: object) {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 1_000 });
  const { need, labels, ...rest } = head;
  const id = shop.daemon.nextId();
  shop.clock.set(NOON + 250);
  await shop.daemon.ledger.admit({
    ...rest,
    id,
    ...{ projectId: 1, keyId: 1, endpoint: 'chat/completions', provider: 'openai', model: 'gpt-5' },
    ...{ askedModel: 'fast', stream: rest.stream ?? false, isFinal: true },
    labels: labelsOf(labels),
    offer: { amount: 100, least: 100, needOf: () => need, blockedRecord: () => recordOf(id) },
  } as never);
  const held = rowOf(shop, id);
  shop.clock.set(NOON + 3_250);
  await shop.daemon.ledger.settle(recordOf(id, record));
  return { held, ended: rowOf(shop, id) };
}

/** How jobs that hold an amount end: what is booked then. */
async function job(amount: number, end: JobEnd | undefined, record: object = {}) {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 1_000 });
  const { ledger } = shop.daemon;
  const { id } = await shop.admit(amount);
  const begun = { requestId: id, provider: 'openai', jobId: 'job', expiresAt: NOON + DAY };
  const run = { flags: 1, firstByteMs: 3, detail: { film: true }, ...record };
  const answers: unknown[] = [await ledger.beginJob({ ...begun, record: run as never })];
  answers.push(await ledger.beginJob({ ...begun, jobId: 'other', record: run as never }));
  await ledger.noteResult('openai', 'job', 'file');
  answers.push((await ledger.findJob('openai', 'job', 'job'))?.held);
  answers.push((await ledger.findJob('openai', 'file', 'result'))?.jobId);
  shop.clock.set(NOON + 11 * HOUR);
  if (end) answers.push(await ledger.endJob('openai', 'job', end));
  shop.clock.set(NOON + DAY);
  if (!end) answers.push(await ledger.expireJobs());
  answers.push(await ledger.endJob('openai', 'job', { how: 'completed' }), await ledger.expireJobs());
  const [ended] = await listRequests(shop.db);
  if (!ended) return answers.map(String).join(' ');
  const { outcome, flags, status, costNanoUsd, durationMs, firstByteMs, outputTokens, detail } = ended;
  return {
    answers: answers.map(String).join(' '),
    ...{ outcome, status, flags, costNanoUsd, hours: durationMs / HOUR, firstByteMs },
    ...{ outputTokens, detail },
  };
}

/** What is left after a settlement, at once and by the database, of budgets that stand so. */
async function left(prepare: (shop: Shop) => Promise<unknown>, later: (shop: Shop) => unknown = () => {}) {
  const shop = await openShop();
  await prepare(shop);
  const ids = [(await shop.admit(30)).id, (await shop.admit(20)).id];
  await later(shop);
  const [first, second] = ids as [number, number];
  const late = shop.daemon.ledger.settleLate(recordOf(first, { costNanoUsd: 35 }));
  const again = shop.daemon.ledger.settleLate(recordOf(second, { costNanoUsd: 5 }));
  await shop.daemon.ledger.settled();
  const settled = (await late?.committed) ?? (await shop.settle(first, 35));
  const flags = shop.db.prepare<[number], number>('SELECT flags FROM journal WHERE id = ?').pluck();
  return {
    late: [late?.remaining, again?.remaining],
    settled,
    next: await shop.settle(second, 5),
    flags: ids.map((id) => flagsOf(flags.get(id) ?? 0).join()),
  };
}

/** The sums of a trial's conversation, after two requests. */
async function trial(fields: object, of: object = {}) {
  const shop = await openShop();
  const about = { conversation: 7, heldOut: false, level: 'safe', originalTokens: 100, ...of };
  for (const cost of [40, 2]) {
    const { id } = await shop.admit(50);
    await shop.settle(id, cost, { trial: about, ...fields } as never);
    shop.clock.set(NOON + 5);
  }
  return shop.db.prepare('SELECT * FROM optimizer_trials').raw().all();
}

test('what is stored of requests, jobs and trials', async () => {
  const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
  const others = (value: unknown) => (typeof value === 'number' ? [0, 1e17] : []);
  // Numbers of tokens may be any that a client or a provider gives; amounts, times and sizes are gw's own.
  const isPossible = ({ name }: { name: string }) =>
    !/^-(need|usage|missed)\.|NanoUsd 1/.test(name) && (/^(need|lowered)/.test(name) || !/ 1/.test(name));
  const jobs: [string, number, JobEnd | undefined, object?][] = [
    ['completed', 50, { how: 'completed' }],
    [
      'completed at a cost',
      50,
      { how: 'completed', costNanoUsd: 7, flags: 4, usage: { ...NO_USAGE, outputTokens: 9 } },
    ],
    ['failed', 50, { how: 'failed' }],
    ['failed at a cost', 50, { how: 'failed', costNanoUsd: 7 }],
    ['cancelled', 50, { how: 'cancelled' }],
    ['expired', 50, { how: 'expired' }],
    ['overdue', 50, undefined],
    ['overdue, without a bound', 1, undefined],
    ['overdue, of the next to smallest amount', 2, undefined],
    ['never held', 0, { how: 'completed' }],
  ];
  const rolling = { period: 'rolling', windowMs: HOUR } as const;
  await expectFrozen(import.meta.dirname, 'records', [
    {
      name: 'a request',
      outcome: () => recorded(HEAD, RECORD),
      variations: [
        ...[...variationsOf(HEAD, others)].filter(isPossible).map(({ name, value }) => ({
          name: `head ${name}`,
          outcome: () => recorded(value as never, RECORD),
        })),
        ...[...variationsOf(RECORD, others)].filter(isPossible).map(({ name, value }) => ({
          name,
          outcome: () => recorded(HEAD, value as object),
        })),
      ],
    },
    ...jobs.map(([name, amount, end, record]) => row(`a job: ${name}`, () => job(amount, end, record))),
    row('left of nothing', () => left(async () => {})),
    row('left of a day', () => left((shop) => shop.budget({ period: 'daily', capNanoUsd: 100 }))),
    row('left of an hour', () => left((shop) => shop.budget({ ...rolling, capNanoUsd: 100 }))),
    row('left of a day that has ended', () =>
      left(
        (shop) => shop.budget({ period: 'daily', capNanoUsd: 100 }),
        (shop) => shop.clock.set(NOON + DAY),
      ),
    ),
    row('left of a budget that was removed', () =>
      left(
        (shop) => shop.budget({ period: 'daily', capNanoUsd: 100 }),
        (shop) => shop.removeBudget('daily'),
      ),
    ),
    {
      name: 'a trial',
      outcome: () => trial({}),
      variations: [
        ...[{ heldOut: true }, { level: 'balanced' }, { level: 'other' }].map((of) =>
          row(JSON.stringify(of), () => trial({}, of)),
        ),
        ...[
          { outcome: 'capped' },
          { flags: 1 },
          { flags: 2 },
          { flags: 4 },
          { flags: 8 },
          { costNanoUsd: 0 },
        ].map((fields) => row(JSON.stringify(fields), () => trial(fields))),
      ],
    },
    row('requests of a daemon that died', async () => {
      const shop = await openShop();
      await shop.budget({ period: 'daily', capNanoUsd: 1_000 });
      const ids = [
        (await shop.admit(10, { stream: true, agent: 'a' })).id,
        (await shop.admit(20, { notBilled: true } as never)).id,
      ];
      shop.clock.set(NOON + HOUR);
      const next = startDaemon(shop.db, shop, 1);
      const closed = [await next.ledger.closeHolds(0), await next.ledger.closeHolds(0)];
      return [closed, ...ids.map((id) => rowOf(shop, id))];
    }),
  ]);
});

test('how a team budget stands, by what its authority has said', async () => {
  const TODAY = NOON - (NOON % DAY);
  const MEMBERSHIP = {
    timezone: 'Europe/Berlin',
    offsetMs: 60_000,
    unreachableSince: NOON - 10_000,
    frozen: 0,
  };
  const STANDING = {
    ...{ capNanoUsd: 1_000, reserveNanoUsd: 50, start: TODAY, ends: TODAY + DAY, leftNanoUsd: 300 },
    ...{ unspentNanoUsd: 600, postedNanoUsd: 100, tight: 1, starved: 1, active: 2, heardAt: NOON - 4_999 },
  };
  type Stored = { membership?: Partial<typeof MEMBERSHIP>; standing?: Partial<typeof STANDING> };
  const stands = ({ membership, standing }: Stored, later = 0, start = TODAY) => {
    const get = (sql: string) => ({ get: () => (sql.includes('team_membership') ? membership : standing) });
    const terms = createTeamTerms({ prepare: get } as never);
    const budget = { id: 1, period: 'daily', currentStart: start } as BudgetTerms;
    const { start: from, end } = terms.period(budget, NOON + later);
    return {
      hours: `${(from - TODAY) / HOUR} to ${(end - TODAY) / HOUR}`,
      ...terms.figures(budget, 150, NOON + later),
    };
  };
  const all = { membership: MEMBERSHIP, standing: STANDING };
  const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });
  const changes: Partial<typeof MEMBERSHIP & typeof STANDING>[] = [
    ...[{ timezone: 'UTC' }, { offsetMs: 12 * HOUR }, { offsetMs: -13 * HOUR }, { offsetMs: -12 * HOUR }],
    ...[{ unreachableSince: NOON - 9_999 }, { unreachableSince: null as never }, { frozen: 1 }],
    ...[{ tight: 0 }, { starved: 0 }, { postedNanoUsd: 200 }, { start: TODAY + 1 }],
    ...[{ heardAt: NOON - 5_000 }, { heardAt: NOON + 5_000 }, { heardAt: NOON + 4_999 }],
  ];
  await expectFrozen(import.meta.dirname, 'team-standings', [
    {
      name: 'a team budget',
      outcome: () => stands(all),
      variations: [
        ...changes.map((change) =>
          row(JSON.stringify(change), () =>
            stands({ membership: { ...MEMBERSHIP, ...change }, standing: { ...STANDING, ...change } }),
          ),
        ),
        row('no standing', () => stands({ membership: MEMBERSHIP })),
        row('no membership', () => stands({ standing: STANDING })),
        row('in another period', () => stands(all, 0, TODAY - DAY)),
        row('in another period, without a standing', () =>
          stands({ membership: MEMBERSHIP }, 0, TODAY - DAY),
        ),
      ],
    },
    row('what was read is forgotten', async () => {
      const db = await memoryDatabase();
      const terms = createTeamTerms(db, () => NOON + DAY);
      const budget = { id: 1, period: 'daily', currentStart: TODAY } as BudgetTerms;
      const before = terms.figures(budget, 0, NOON).isCutOff;
      db.prepare(`INSERT INTO team_membership (id, gateway_id, name, team_name, token, nonce, fingerprint, timezone,
        courier, joined_at, unreachable_since) VALUES (1, 1, 'g', 't', 't', 'n', 'f', 'UTC', 0, 0, 0)`).run();
      const kept = terms.figures(budget, 0, NOON).isCutOff;
      terms.forget();
      const after = terms.figures(budget, 0, NOON).isCutOff;
      return [before, kept, after, (terms.period(budget, NOON).start - TODAY) / HOUR];
    }),
  ]);
});
