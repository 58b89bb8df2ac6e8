import type { Calendar, Span } from '../../calendar.ts';
import { formatRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import type { Standing } from '../ledger/standing.ts';
import { createAccountReader, type LiveKey, type ProjectState } from './account-list.ts';
import { type BudgetBlocks, createBlocksReader } from './blocks.ts';
import { createFeedReader, createLatencyReader, type FeedFilter, type FeedRow } from './feed.ts';
import { createMinuteReader } from './minutes.ts';
import { type CauseMisses, createMissesReader } from './misses.ts';
import { createProviderHealthReader, type ProviderHealth } from './provider-health.ts';
import { createStandingsReader } from './standings.ts';
import { createWebhookReader, type WebhookHealth } from './webhook-health.ts';
import {
  type CallerSpend,
  createWindowUsageReader,
  type ModelSpend,
  type WindowTotals,
} from './window-usage.ts';

export const WINDOWS = ['hour', 'day', 'month'] as const;
/** The running hour, local day or month. */
export type Window = (typeof WINDOWS)[number];

export interface DashboardQuery {
  window: Window;
  filter: FeedFilter;
  now: number;
}

/** What the dashboard shows of the database. */
export interface DashboardData {
  now: number;
  window: Window;
  span: Span;
  totals: WindowTotals;
  p95Ms: number | null;
  /** Spend in each minute, hour or day of the window; undefined in the future. */
  series: (NanoUsd | undefined)[];
  budgets: Standing[];
  /** Newest first; blocked ones with their budget, if it is known. */
  requests: (FeedRow & { budget?: string })[];
  models: ModelSpend[];
  callers: CallerSpend[];
  blocked: BudgetBlocks[];
  misses: CauseMisses[];
  webhooks: WebhookHealth[];
  providers: ProviderHealth[];
  projects: ProjectState[];
  keys: LiveKey[];
}

export interface DashboardReader {
  /** Whether another connection has written since the last call. */
  changed(): boolean;
  read(query: DashboardQuery): DashboardData;
}

/** Reads for the dashboard; `db` may be read-only. */
export function createDashboardReader(db: Db, calendar: Calendar): DashboardReader {
  // A quarter of the default cache: a pass over an index does not reuse pages.
  db.pragma('cache_size = -4000');
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const readStandings = createStandingsReader(db);
  const readUsage = createWindowUsageReader(db);
  const readMinutes = createMinuteReader(db);
  const readFeed = createFeedReader(db);
  const readLatency = createLatencyReader(db);
  const readBlocks = createBlocksReader(db);
  const readMisses = createMissesReader(db);
  const readWebhooks = createWebhookReader(db);
  const readProviders = createProviderHealthReader(db);
  const readAccounts = createAccountReader(db);
  let version: number | undefined;

  function read({ window, filter, now }: DashboardQuery): DashboardData {
    const span = spanOfWindow(window, now, calendar);
    const { totals, buckets, models, callers } = readUsage(span);
    const blocks = readBlocks(span.start);
    return {
      now,
      window,
      span,
      totals,
      p95Ms: readLatency(span.start),
      series:
        window === 'hour' ? untilNow(readMinutes(span, now), span, now) : spread(buckets, window, span, now),
      budgets: readStandings({ calendar, now }),
      requests: readFeed(filter).map((row) => {
        const budget = row.outcome === 'blocked' ? blocks.budgetOf(formatRequestId(row.id)) : undefined;
        return budget === undefined ? row : { ...row, budget };
      }),
      models,
      callers,
      blocked: blocks.budgets,
      misses: readMisses(span.start),
      webhooks: readWebhooks(),
      providers: readProviders(now),
      ...readAccounts(),
    };
  }

  /** Sums the rollups' buckets into the hours or local days of the window. */
  function spread(
    buckets: { start: number; costNanoUsd: NanoUsd }[],
    window: 'day' | 'month',
    span: Span,
    now: number,
  ): (NanoUsd | undefined)[] {
    const starts: number[] = [];
    for (let start = span.start; start < span.end; ) {
      starts.push(start);
      start = window === 'day' ? start + HOUR_MS : calendar.day(start).end;
    }
    return starts.map((start, i) => {
      if (start > now) return undefined;
      const end = starts[i + 1] ?? span.end;
      const within = buckets.filter((bucket) => bucket.start >= start && bucket.start < end);
      return within.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);
    });
  }

  return {
    changed() {
      const current = dataVersion.get();
      const isNew = current !== version;
      version = current;
      return isNew;
    },
    // One transaction, so that all panels show the same state.
    read: db.transaction(read),
  };
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

function untilNow(minutes: NanoUsd[], { start }: Span, now: number): (NanoUsd | undefined)[] {
  return minutes.map((cost, i) => (start + i * MINUTE_MS > now ? undefined : cost));
}

/** The span of a window. Hours are those of the rollups: UTC hours, cut where a local day begins. */
function spanOfWindow(window: Window, now: number, calendar: Calendar): Span {
  if (window === 'month') return calendar.month(now);
  const day = calendar.day(now);
  if (window === 'day') return day;
  const hour = now - (now % HOUR_MS);
  return { start: Math.max(hour, day.start), end: Math.min(hour + HOUR_MS, day.end) };
}
