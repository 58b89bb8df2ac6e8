import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, createCalendar } from '../../../src/calendar.ts';
import { requestIdAt } from '../../../src/ids.ts';
import { parseLabels } from '../../../src/labels.ts';
import type { UsageFigures } from '../../../src/store/archive/usage-sums.ts';
import type { Db } from '../../../src/store/database/open.ts';
import { bucketOf } from '../../../src/store/database/usage-bucket.ts';
import { FLAGS, OUTCOMES, type Outcome, type RequestRecord } from '../../../src/store/ledger/record.ts';
import {
  GROUPINGS,
  type GroupBy,
  type Grouping,
  groupingsOf,
  parseGroupBy,
} from '../../../src/store/reports/query.ts';
import { listSessions } from '../../../src/store/reports/sessions.ts';
import { usageReport } from '../../../src/store/reports/usage-report.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import {
  addProjects,
  createWorld,
  memoryDatabase,
  NOON,
  PROPERTY_TIMEOUT_MS,
  recordOf,
  type SimulatedDaemon,
  startDaemon,
} from '../../support/simulator.ts';

const FAILURES: ReadonlySet<Outcome> = new Set(['upstream_error', 'upstream_failed', 'refused', 'crashed']);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ZONES = [
  'UTC',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
];

describe('bucketOf()', () => {
  test('is the hour, cut where a day begins in some zone', () => {
    const at = (time: string) => new Date(bucketOf(Date.parse(time))).toISOString().slice(11, 16);
    expect(at('2026-05-12T18:14:59Z')).toBe('18:00');
    expect(at('2026-05-12T18:29:59Z')).toBe('18:15');
    expect(at('2026-05-12T18:30:00Z')).toBe('18:30');
    expect(at('2026-05-12T19:00:00Z')).toBe('19:00');
  });

  test('never straddles two days of any zone that there is', () => {
    for (const timezone of Intl.supportedValuesOf('timeZone')) {
      const calendar = createCalendar(timezone);
      for (let month = 0; month < 12; month++) {
        const { start } = calendar.day(Date.UTC(2026, month, 15));
        expect(bucketOf(start), timezone).toBe(start);
      }
    }
  });

  test('is at most an hour before its moment', () => {
    const moments = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2030, 0, 1) });
    fc.assert(
      fc.property(moments, (moment) => {
        expect(bucketOf(moment)).toBeLessThanOrEqual(moment);
        expect(moment - bucketOf(moment)).toBeLessThan(HOUR_MS);
      }),
    );
  });
});

const LABELS = [
  undefined,
  parseLabels('customer=acme', 'labels'),
  parseLabels('customer=acme,feature=search', 'labels'),
  parseLabels('customer=mega corp', 'labels'),
];

const THINGS = [...GROUPINGS, 'label:customer', 'label:feature'] as const;
/** One thing, or two that go together. */
const groupBys = fc
  .uniqueArray(fc.constantFrom(...THINGS), { minLength: 1, maxLength: 2 })
  .map((things) => parseGroupBy(things.join()))
  .filter((groupBy): groupBy is GroupBy => groupBy !== undefined);

const count = fc.nat({ max: 1_000_000 });
const records = fc.array(
  fc.record({
    timeMs: fc.integer({ min: NOON - 40 * DAY_MS, max: NOON }),
    projectId: fc.integer({ min: 1, max: 3 }),
    provider: fc.constantFrom('', 'openai', 'anthropic'),
    model: fc.constantFrom('', 'small', 'large'),
    outcome: fc.constantFrom(...(Object.keys(OUTCOMES) as Outcome[])),
    flags: fc.constantFrom(0, FLAGS.unpriced, FLAGS.estimated | FLAGS.stream, FLAGS.not_billed),
    inputTokens: count,
    cachedInputTokens: count,
    cacheWriteTokens: count,
    cacheWrite1hTokens: count,
    outputTokens: count,
    reasoningTokens: count,
    savedTokens: count,
    costNanoUsd: count,
    savedNanoUsd: count,
    missed: fc.option(
      fc.record({ tokens: count, nanoUsd: count, cause: fc.constant('tools_changed' as const) }),
      { nil: undefined },
    ),
    origin: fc.constantFrom(
      { process: '', repo: '' },
      { process: 'curl', repo: '' },
      { process: 'curl', repo: '/srv/shop' },
      { process: 'claude', repo: '/srv/shop' },
    ),
    keyId: fc.constantFrom(1, 2, 3),
    agent: fc.constantFrom(undefined, 'claude', 'codex'),
    session: fc.constantFrom(undefined, 's1', 's2'),
    labels: fc.constantFrom(...LABELS),
  }),
  { minLength: 1, maxLength: 60 },
);

type Drawn = typeof records extends fc.Arbitrary<(infer T)[]> ? T : never;

function written({ timeMs, ...drawn }: Drawn, index: number): RequestRecord {
  const {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    outputTokens,
    reasoningTokens,
    ...rest
  } = drawn;
  const usage = {
    ...NO_USAGE,
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    outputTokens,
    reasoningTokens,
  };
  return recordOf(requestIdAt(timeMs) + index, { ...rest, usage });
}

function figuresOf(record: RequestRecord): UsageFigures {
  const { usage } = record;
  return {
    requests: 1,
    blockedRequests: record.outcome === 'blocked' ? 1 : 0,
    failedRequests: FAILURES.has(record.outcome) ? 1 : 0,
    unpricedRequests: record.flags & FLAGS.unpriced ? 1 : 0,
    inputTokens: usage.inputTokens,
    cachedInputTokens: usage.cachedInputTokens,
    cacheWriteTokens: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    savedTokens: record.savedTokens,
    costNanoUsd: record.flags & FLAGS.not_billed ? 0 : record.costNanoUsd,
    savedNanoUsd: record.savedNanoUsd,
    missedTokens: record.missed?.tokens ?? 0,
    missedNanoUsd: record.missed?.nanoUsd ?? 0,
    replayedRequests: record.flags & FLAGS.replayed ? 1 : 0,
  };
}

/** The names of keys 1 to 3: two have one label, and one has none. */
const KEYS = ['ci', '2', 'ci'];

function keysOf(record: RequestRecord, date: string, hour: string): Partial<Record<Grouping, string>> {
  return {
    day: date,
    hour,
    model: record.provider ? `${record.provider}/${record.model}` : record.model,
    project: `p${record.projectId}`,
    process: record.origin?.process || 'unknown',
    repo: record.origin?.repo || 'unknown',
    session: record.session ?? 'unknown',
    agent: record.agent ?? 'unknown',
    key: KEYS[record.keyId - 1] ?? '',
    'label:customer': record.labels?.get('customer') ?? 'unknown',
    'label:feature': record.labels?.get('feature') ?? 'unknown',
  };
}

const filters = fc.record(
  {
    keyIds: fc.constantFrom<number[]>([], [1], [1, 3]),
    model: fc.constantFrom('small', 'openai/large'),
    agent: fc.constantFrom('claude', 'nobody'),
    session: fc.constantFrom('s1', 's2'),
    repo: fc.constantFrom('/srv/shop'),
    labels: fc.constantFrom(...LABELS, parseLabels('customer=acme,feature=chat', 'labels')),
    status: fc.constantFrom(200, 429),
    outcomes: fc.constantFrom<Outcome[]>(['blocked'], ['upstream_error', 'refused']),
  },
  { requiredKeys: [] },
);
type Filter = typeof filters extends fc.Arbitrary<infer T> ? T : never;

function passes(record: RequestRecord, filter: Filter): boolean {
  const { provider, model, keyId, agent, session, origin, status, outcome } = record;
  return (
    (!filter.keyIds || filter.keyIds.includes(keyId)) &&
    (!filter.model || [model, `${provider}/${model}`].includes(filter.model)) &&
    (!filter.agent || agent === filter.agent) &&
    (!filter.session || session === filter.session) &&
    [...(filter.labels ?? [])].every(([name, value]) => record.labels?.get(name) === value) &&
    (!filter.repo || origin?.repo === filter.repo) &&
    (!filter.status || status === filter.status) &&
    (!filter.outcomes || filter.outcomes.includes(outcome))
  );
}

/** The figures of sessions are those of their records, archived or not. */
function checkSessions(db: Db, all: RequestRecord[], projectId: number | undefined): void {
  const counted = all.filter((each) => projectId === undefined || each.projectId === projectId);
  const nameOf = (project: string, agent: string, id: string) => `${project} ${agent} ${id}`;
  const expected = new Map<string, UsageFigures[]>();
  for (const record of counted) {
    if (record.session === undefined) continue;
    const name = nameOf(`p${record.projectId}`, record.agent ?? '', record.session);
    expected.set(name, [...(expected.get(name) ?? []), figuresOf(record)]);
  }
  const found = listSessions(db, { source: 'gw', projectId, limit: 100 }).map((session) => [
    nameOf(session.project, session.agent, session.id),
    [session.requests, session.blockedRequests, session.inputTokens, session.costNanoUsd],
  ]);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(
      [...expected].map(([name, figures]) => {
        const { requests, blockedRequests, inputTokens, costNanoUsd } = sum(figures);
        return [name, [requests, blockedRequests, inputTokens, costNanoUsd]];
      }),
    ),
  );
}

function sum(all: UsageFigures[]): UsageFigures {
  const total = figuresOf(recordOf(0));
  for (const name of Object.keys(total) as (keyof UsageFigures)[])
    total[name] = all.reduce((sofar, figures) => sofar + figures[name], 0);
  return total;
}

async function sumHours({ sumNextHour, takeOver }: SimulatedDaemon, before: number): Promise<void> {
  await takeOver();
  while (await sumNextHour(before));
}

describe('usageReport()', () => {
  test(
    'is the sum of the records, by day, model and project, of one project or all, in any zone, whatever is summed',
    async () => {
      const property = fc.asyncProperty(
        fc.constantFrom(...ZONES),
        records,
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 0, max: 40 }),
        fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
        fc.array(fc.integer({ min: NOON - 41 * DAY_MS, max: NOON + HOUR_MS }), { maxLength: 9 }),
        groupBys,
        filters,
        async (timezone, drawn, daysBack, length, projectId, sumUntil, pair, filter) => {
          const db = await memoryDatabase();
          addProjects(db, 3);
          const label = db.prepare(
            "INSERT INTO keys (project_id, hash, hint, label, admin, created_at) VALUES (1, ?, 'hint', ?, 0, 0)",
          );
          for (const name of KEYS) label.run(randomBytes(8), name === '2' ? null : name);
          const world = createWorld({ timezone });
          const daemon = startDaemon(db, world, 0);
          const { ledger } = daemon;
          const all = drawn.map(written);
          for (const [i, record] of all.entries()) {
            void ledger.record(record);
            if (i % 7 !== 0) continue;
            ledger.flush();
            // Hours are summed at any time, so that many a record comes after the sum of its hour.
            await sumHours(daemon, sumUntil[i / 7] ?? 0);
          }
          ledger.flush();
          const { calendar } = world;
          const from = addDays(calendar.dateOf(NOON), -daysBack);
          const to = addDays(from, length);
          const matching = all
            .map((record, i) => {
              const timeMs = drawn[i]?.timeMs ?? 0;
              const hour = `${calendar.timeOfDay(bucketOf(timeMs)).slice(0, 2)}:00`;
              return { record, date: calendar.dateOf(timeMs), hour };
            })
            .filter(({ date }) => date >= from && date <= to)
            .filter(({ record }) => projectId === undefined || record.projectId === projectId);
          for (const groupBy of [...THINGS, pair]) {
            const { rows, total } = await usageReport(db, calendar, {
              from,
              to,
              groupBy,
              projectId,
              ...filter,
            });
            const counted = matching.filter(({ record }) => passes(record, filter));
            const expected = new Map<string, UsageFigures[]>();
            for (const { record, date, hour } of counted) {
              const keys = keysOf(record, date, hour);
              const key = groupingsOf(groupBy)
                .map((each) => keys[each])
                .join(' | ');
              expected.set(key, [...(expected.get(key) ?? []), figuresOf(record)]);
            }
            const found = rows.map(({ key, subkey, ...figures }) => [
              [key, subkey].filter((each) => each !== undefined).join(' | '),
              figures,
            ]);
            expect(Object.fromEntries(found)).toEqual(
              Object.fromEntries([...expected].map(([key, figures]) => [key, sum(figures)])),
            );
            expect(total).toEqual(sum(counted.map(({ record }) => figuresOf(record))));
          }
          checkSessions(db, all, projectId);
          db.close();
        },
      );
      await fc.assert(property, { numRuns: 60 });
    },
    PROPERTY_TIMEOUT_MS,
  );

  test('orders days and hours by time, and models and projects by what they cost', async () => {
    const db = await memoryDatabase();
    addProjects(db, 2);
    const world = createWorld();
    const { ledger } = startDaemon(db, world, 0);
    const add = (time: number, model: string, costNanoUsd: number) =>
      ledger.record(recordOf(requestIdAt(time), { model, costNanoUsd }));
    await Promise.all([
      add(NOON, 'cheap', 1),
      add(NOON - DAY_MS, 'dear', 9),
      add(NOON - 2 * DAY_MS, 'cheap', 2),
      add(NOON - 2 * DAY_MS - 3 * HOUR_MS, 'cheap', 0),
    ]);
    const keys = async (groupBy: 'day' | 'hour' | 'model') =>
      (await usageReport(db, world.calendar, { from: '2026-05-10', to: '2026-05-12', groupBy })).rows.map(
        ({ key }) => key,
      );
    expect(await keys('day')).toEqual(['2026-05-10', '2026-05-11', '2026-05-12']);
    expect(await keys('hour')).toEqual(['09:00', '12:00']);
    expect(await keys('model')).toEqual(['openai/dear', 'openai/cheap']);
  });

  test('is empty for a day that the zone left out, and for one without requests', async () => {
    const db = await memoryDatabase();
    addProjects(db, 1);
    const world = createWorld({ timezone: 'Pacific/Apia' });
    const report = (day: string) => usageReport(db, world.calendar, { from: day, to: day, groupBy: 'day' });
    expect((await report('2011-12-30')).rows).toEqual([]);
    const none = await report('2026-05-12');
    expect([none.rows, none.total.requests]).toEqual([[], 0]);
  });
});
