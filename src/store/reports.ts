import { addDays, type Calendar } from '../calendar.ts';
import type { NanoUsd } from '../money.ts';
import type { Db } from './open.ts';

export const GROUPINGS = ['day', 'model', 'project'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The figures of a report row. Tokens are counts; `requests` includes blocked and failed ones. */
export interface UsageFigures {
  requests: number;
  blockedRequests: number;
  failedRequests: number;
  unpricedRequests: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  savedTokens: number;
  costNanoUsd: NanoUsd;
  savedNanoUsd: NanoUsd;
}

export interface UsageRow extends UsageFigures {
  /** The day (YYYY-MM-DD), `provider/model` or project name. */
  key: string;
}

export interface UsageReport {
  rows: UsageRow[];
  total: UsageFigures;
}

export interface UsageQuery {
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: Grouping;
  /** Only this project's; all when absent. */
  projectId?: number;
}

const FIGURES: Record<keyof UsageFigures, string> = {
  requests: 'requests',
  blockedRequests: 'blocked_requests',
  failedRequests: 'failed_requests',
  unpricedRequests: 'unpriced_requests',
  inputTokens: 'input_tokens',
  cachedInputTokens: 'cached_input_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  savedTokens: 'saved_tokens',
  costNanoUsd: 'cost_nano_usd',
  savedNanoUsd: 'saved_nano_usd',
};
const NAMES = Object.keys(FIGURES) as (keyof UsageFigures)[];
const SUMS = NAMES.map((name) => `sum(u.${FIGURES[name]}) AS ${name}`).join(', ');

/** Sums of the rollups over a span of days, by day (in order), or by model or project (dearest first). */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const from = calendar.startOfDate(query.from);
  const to = calendar.startOfDate(addDays(query.to, 1));
  const rows = query.groupBy === 'day' ? byDay(db, calendar, query, from, to) : byName(db, query, from, to);
  return { rows, total: sumOf(rows) };
}

interface Grouped extends UsageFigures {
  id: number | string;
}

function select(
  db: Db,
  { projectId }: UsageQuery,
  column: string,
  joins: string,
  from: number,
  to: number,
): Grouped[] {
  const sql = `SELECT ${column} AS id, ${SUMS} FROM usage_hours u ${joins} WHERE u.bucket >= ? AND u.bucket < ?
    ${projectId === undefined ? '' : 'AND u.project_id = ?'} GROUP BY ${column}`;
  const parameters = projectId === undefined ? [from, to] : [from, to, projectId];
  return db.prepare<number[], Grouped>(sql).all(...parameters);
}

function byDay(db: Db, calendar: Calendar, query: UsageQuery, from: number, to: number): UsageRow[] {
  const days = new Map<string, UsageRow>();
  for (const { id, ...figures } of select(db, query, 'u.bucket', '', from, to)) {
    const key = calendar.dateOf(Number(id));
    const day = days.get(key);
    if (day) add(day, figures);
    else days.set(key, { key, ...figures });
  }
  return [...days.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

function byName(db: Db, query: UsageQuery, from: number, to: number): UsageRow[] {
  const grouped =
    query.groupBy === 'project'
      ? select(db, query, 'p.name', 'JOIN projects p ON p.id = u.project_id', from, to)
      : select(
          db,
          query,
          "CASE WHEN v.name = '' OR m.name LIKE v.name || '/%' THEN m.name ELSE v.name || '/' || m.name END",
          'JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id',
          from,
          to,
        );
  return grouped
    .map(({ id, ...figures }) => ({ key: String(id), ...figures }))
    .sort((a, b) => b.costNanoUsd - a.costNanoUsd || b.requests - a.requests || (a.key < b.key ? -1 : 1));
}

function sumOf(rows: UsageRow[]): UsageFigures {
  const total = Object.fromEntries(NAMES.map((name) => [name, 0])) as unknown as UsageFigures;
  for (const row of rows) add(total, row);
  return total;
}

function add(total: UsageFigures, figures: UsageFigures): void {
  for (const name of NAMES) total[name] += figures[name];
}
