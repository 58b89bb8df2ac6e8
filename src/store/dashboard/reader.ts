import type { Calendar, Span } from '../../calendar.ts';
import { formatRequestId, requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { summedUsage } from '../archive/usage-sums.ts';
import { columnName, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';
import { IS_FROM_GW, MISS_CAUSES, type MissCause, SOURCES } from '../ledger/record.ts';
import type { Standing } from '../ledger/standing.ts';
import { type BudgetBlocks, createBlocksReader } from './blocks.ts';
import { createFeedReader, createLatencyReader, type FeedFilter, type FeedRow } from './feed.ts';
import { createProviderHealthReader, type ProviderHealth } from './provider-health.ts';
import { createProviderTrendsReader, type ProviderTrend } from './provider-trends.ts';
import {
  createRunningReader,
  createWaitingReader,
  type RunningRequest,
  type WaitingRequest,
} from './running.ts';
import { createSpendReader, type PartBy, type WindowSpend } from './spend.ts';
import { createStandingsReader } from './standings.ts';
import { createWebhookReader, type WebhookHealth } from './webhook-health.ts';

interface ProjectState {
  id: number;
  name: string;
  paused: boolean;
}

/** A key that is not revoked, without its secret. */
interface LiveKey extends Pick<Row<'keys'>, 'id' | 'hint' | 'label' | 'admin'> {
  project: string;
}

/** Reads the projects, ordered by name, and their keys, oldest first. */
function createAccountReader(db: Db): () => { projects: ProjectState[]; keys: LiveKey[] } {
  const selectProjects = db.prepare<[], { id: number; name: string; paused: number }>(
    'SELECT id, name, paused_at IS NOT NULL AS paused FROM projects WHERE removed_at IS NULL ORDER BY name',
  );
  const selectKeys = db.prepare<[], Omit<LiveKey, 'admin'> & { admin: number }>(`
    SELECT k.id, p.name AS project, k.hint, k.label, k.admin FROM keys k JOIN projects p ON p.id = k.project_id
    WHERE k.revoked_at IS NULL AND p.removed_at IS NULL ORDER BY k.id`);
  return () => ({
    projects: selectProjects.all().map((project) => ({ ...project, paused: project.paused === 1 })),
    keys: selectKeys.all().map((key) => ({ ...key, admin: key.admin === 1 })),
  });
}

export const WINDOWS = ['hour', 'day', 'month'] as const;
/** The running hour, local day or month. */
export type Window = (typeof WINDOWS)[number];

export interface DashboardQuery {
  window: Window;
  filter: FeedFilter;
  /** What the parts of the spend are of: models if undefined. */
  by?: PartBy | undefined;
  now: number;
}

export interface DashboardData extends WindowSpend, WindowUsage {
  callers: CallerSpend[];
  now: number;
  window: Window;
  span: Span;
  p95Ms: number | null;
  budgets: Standing[];
  /** The longest first. */
  running: RunningRequest[];
  /** The longest first. */
  waiting: WaitingRequest[];
  /** Newest first; blocked ones with their budget, if it is known. */
  requests: (FeedRow & { budget?: string })[];
  blocked: BudgetBlocks[];
  misses: CauseMisses[];
  webhooks: WebhookHealth[];
  providers: ProviderHealth[];
  trends: ProviderTrend[];
  projects: ProjectState[];
  keys: LiveKey[];
}

/** Reads for the dashboard; `db` may be read-only. With a project, `db` has only its rows. */
export function createDashboardReader(db: Db, calendar: Calendar, projectId = 0) {
  // A quarter of the default cache: a pass over an index does not reuse pages.
  db.pragma('cache_size = -4000');
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const readStandings = createStandingsReader(db);
  const readUsage = createWindowUsageReader(db, projectId);
  const readSpend = createSpendReader(db, calendar, projectId);
  const readRunning = createRunningReader(db);
  const readWaiting = createWaitingReader(db);
  const readFeed = createFeedReader(db);
  const readLatency = createLatencyReader(db);
  const readBlocks = createBlocksReader(db);
  const readWebhooks = createWebhookReader(db);
  const scans = createScans(db);
  const readAccounts = createAccountReader(db);
  let version: number | undefined;

  function read({ window, filter, now, by = 'model' }: DashboardQuery): DashboardData {
    const span = spanOfWindow(window, now, calendar);
    const blocks = readBlocks(span.start);
    const usage = readUsage(span);
    return {
      now,
      window,
      span,
      ...usage,
      p95Ms: readLatency(span.start),
      ...readSpend({ window, by, span, now }),
      budgets: readStandings({ calendar, now }),
      running: readRunning(now),
      waiting: readWaiting(now),
      requests: readFeed(filter).map((row) => {
        const budget = row.outcome === 'blocked' ? blocks.budgetOf(formatRequestId(row.id)) : undefined;
        return budget === undefined ? row : { ...row, budget };
      }),
      blocked: blocks.budgets,
      ...scans.read({ span, now, requests: usage.totals.requests }),
      webhooks: readWebhooks(),
      ...readAccounts(),
    };
  }

  return {
    /** Whether another connection has written since the last call, or a reading had old scans. */
    changed(): boolean {
      const current = dataVersion.get();
      const isNew = current !== version || scans.areOld();
      version = current;
      return isNew;
    },
    // One transaction, so that all panels show the same state.
    read: db.transaction(read),
  };
}

const MANY_REQUESTS = 2_000;
const SCANS_LAST_MS = 5_000;

type Scans = Pick<DashboardData, 'callers' | 'misses' | 'providers' | 'trends'>;

/** Panels that need thousands of rows: read each time while there are few requests, else every few seconds. */
function createScans(db: Db) {
  const readCallers = createCallersReader(db);
  const readMisses = createMissesReader(db);
  const readProviders = createProviderHealthReader(db);
  const readTrends = createProviderTrendsReader(db);
  let last: { since: number; at: number; scans: Scans } | undefined;
  let areOld = false;
  return {
    areOld: () => areOld,
    read({ span, now, requests }: { span: Span; now: number; requests: number }): Scans {
      const since = span.start;
      const age = now - (last?.at ?? 0);
      areOld = last?.since === since && requests > MANY_REQUESTS && age >= 0 && age < SCANS_LAST_MS;
      if (!last || !areOld) {
        const scans = { misses: readMisses(since), providers: readProviders(now), trends: readTrends(now) };
        last = { since, at: now, scans: { ...scans, callers: readCallers(span) } };
      }
      return last.scans;
    },
  };
}

const HOUR_MS = 3_600_000;

/** The span of a window. Hours are those of the rollups: UTC hours, cut where a local day begins. */
function spanOfWindow(window: Window, now: number, calendar: Calendar): Span {
  if (window === 'month') return calendar.month(now);
  const day = calendar.day(now);
  if (window === 'day') return day;
  const hour = now - (now % HOUR_MS);
  return { start: Math.max(hour, day.start), end: Math.min(hour + HOUR_MS, day.end) };
}

/** Cache misses of one cause. */
interface CauseMisses {
  cause: MissCause;
  requests: number;
  missedTokens: number;
  missedNanoUsd: NanoUsd;
}

const CAUSES = Object.keys(MISS_CAUSES) as MissCause[];
const MAX_SEARCHED = 20_000;

/** Reads the misses of the newest requests since a time, the dearest cause first. */
function createMissesReader(db: Db): (since: number) => CauseMisses[] {
  const select = db.prepare<[number, number], Omit<CauseMisses, 'cause'> & { cause: number }>(`
    SELECT miss_cause AS cause, count(*) AS requests, sum(missed_tokens) AS missedTokens,
    sum(missed_nano_usd) AS missedNanoUsd FROM request_log
    WHERE id >= ? AND at >= ? AND id >= ${newestFrom(MAX_SEARCHED)} AND missed_tokens > 0 AND source = ${SOURCES.gw}
    GROUP BY miss_cause ORDER BY missedNanoUsd DESC, missedTokens DESC`);
  return (since) =>
    select
      .all(requestIdAt(since), since)
      .map(({ cause, ...rest }) => ({ cause: CAUSES[cause] ?? 'unknown', ...rest }));
}

/** The figures that the totals of a span of time have. */
const TOTALS = [
  'requests',
  'blockedRequests',
  'failedRequests',
  'unpricedRequests',
  'savedTokens',
  'costNanoUsd',
  'savedNanoUsd',
] as const;
type WindowTotals = Pick<Row<'usageHours'>, (typeof TOTALS)[number]>;

interface ModelSpend {
  provider: string;
  model: string;
  requests: number;
  costNanoUsd: NanoUsd;
}

/** The usage of a program in a repository; '' if unknown. */
interface CallerSpend {
  process: string;
  repo: string;
  requests: number;
  costNanoUsd: NanoUsd;
}

interface WindowUsage {
  totals: WindowTotals;
  /** Highest cost first. */
  models: ModelSpend[];
}

const TOP = 20;

/** Reads the rollups of a span that starts and ends with an hour or a local day. */
function createWindowUsageReader(db: Db, projectId: number): (span: Span) => WindowUsage {
  const usage = summedUsage('model', projectId);
  const selectTotals = db.prepare<Span, WindowTotals>(
    `SELECT ${TOTALS.map((name) => `coalesce(sum(${columnName(name)}), 0) AS ${name}`).join(', ')} FROM (${usage})`,
  );
  const selectModels = db.prepare<Span, ModelSpend>(`
    SELECT v.name AS provider, m.name AS model, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
    FROM (${usage}) u JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id
    GROUP BY u.provider_id, u.model_id HAVING requests > 0
    ORDER BY costNanoUsd DESC, requests DESC, model LIMIT ${TOP}`);
  return (span) => ({
    // A sum without rows is a row.
    totals: selectTotals.get(span) as WindowTotals,
    models: selectModels.all(span),
  });
}

/** Reads who has spent most in a span; sums know no programs. */
function createCallersReader(db: Db): (span: Span) => CallerSpend[] {
  const select = db.prepare<Span, CallerSpend>(`
    SELECT c.name AS process, r.name AS repo, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
    FROM usage u JOIN names c ON c.id = u.process_id JOIN names r ON r.id = u.repo_id
    WHERE ${IS_FROM_GW} AND u.process_id + u.repo_id > 0 AND u.bucket >= @start AND u.bucket < @end
    GROUP BY u.process_id, u.repo_id
    ORDER BY costNanoUsd DESC, requests DESC, process LIMIT ${TOP}`);
  return (span) => select.all(span);
}
