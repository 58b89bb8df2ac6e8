import { requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';
import { FLAGS, flagsOf, OUTCOMES, outcomeOf } from '../ledger/record.ts';
import type { LoggedRequest } from '../requests/request-log.ts';

/** A request as the feed shows it. */
export interface FeedRow
  extends Pick<
    LoggedRequest,
    | 'id'
    | 'timeMs'
    | 'project'
    | 'provider'
    | 'model'
    | 'askedModel'
    | 'status'
    | 'outcome'
    | 'flags'
    | 'inputTokens'
    | 'outputTokens'
    | 'costNanoUsd'
    | 'durationMs'
  > {
  /** Why it failed. */
  error: string | null;
}

export const FEED_KINDS = ['all', 'blocked', 'failed', 'unpriced'] as const;
type FeedKind = (typeof FEED_KINDS)[number];

export interface FeedFilter {
  kind: FeedKind;
  /** Part of a model's or project's name; '': any. */
  text: string;
  /** How many requests at most. */
  limit?: number | undefined;
}

interface Row extends Omit<FeedRow, 'outcome' | 'flags'> {
  outcome: number;
  flags: number;
}

export const FEED_LIMIT = 300;
/** How many requests are searched for those that pass the filter. */
const MAX_SEARCHED = 20_000;
const FAILURES = [OUTCOMES.upstream_error, OUTCOMES.upstream_failed, OUTCOMES.refused, OUTCOMES.crashed];
const CONDITIONS: Record<FeedKind, string> = {
  all: 'TRUE',
  blocked: `outcome = ${OUTCOMES.blocked}`,
  failed: `outcome IN (${FAILURES.join(', ')})`,
  unpriced: `flags & ${FLAGS.unpriced}`,
};
const NAMED = `(@text = '' OR model_id IN (SELECT id FROM names WHERE name LIKE @text ESCAPE '\\')
  OR asked_model_id IN (SELECT id FROM names WHERE name LIKE @text ESCAPE '\\')
  OR project_id IN (SELECT id FROM projects WHERE name LIKE @text ESCAPE '\\'))`;

/** Reads the newest requests that pass a filter, newest first. */
export function createFeedReader(db: Db): (filter: FeedFilter) => FeedRow[] {
  const statements = Object.fromEntries(FEED_KINDS.map((kind) => [kind, prepare(db, kind)])) as Record<
    FeedKind,
    ReturnType<typeof prepare>
  >;
  return ({ kind, text, limit = FEED_LIMIT }) => {
    const like = text === '' ? '' : `%${text.replace(/[\\%_]/g, '\\$&')}%`;
    return statements[kind]
      .all({ text: like, limit })
      .map((row) => ({ ...row, outcome: outcomeOf(row.outcome), flags: flagsOf(row.flags) }));
  };
}

function prepare(db: Db, kind: FeedKind) {
  return db.prepare<{ text: string; limit: number }, Row>(`
    SELECT r.id, r.at AS timeMs, p.name AS project, v.name AS provider, m.name AS model, a.name AS askedModel, r.status, r.outcome,
    r.flags, r.input_tokens AS inputTokens, r.output_tokens AS outputTokens, r.cost_nano_usd AS costNanoUsd,
    r.duration_ms AS durationMs, json_extract(r.detail, '$.error') AS error
    FROM (SELECT * FROM request_log WHERE id >= ${newestFrom(MAX_SEARCHED)}
      AND ${CONDITIONS[kind]} AND ${NAMED} ORDER BY id DESC LIMIT @limit) r
    JOIN projects p ON p.id = r.project_id JOIN names v ON v.id = r.provider_id
    JOIN names m ON m.id = r.model_id JOIN names a ON a.id = r.asked_model_id ORDER BY r.id DESC`);
}

/** Reads the 95th percentile of the durations of the newest requests since a time; null without any. */
export function createLatencyReader(db: Db): (since: number) => number | null {
  // Each table in its own order: the view's rows would all be sorted.
  const newestOf = (table: string) => `SELECT * FROM (SELECT id, duration_ms FROM ${table} WHERE id >= @first
    AND id >= ${newestFrom(MAX_SEARCHED)} AND at >= @since AND outcome = ${OUTCOMES.ok} ORDER BY id DESC LIMIT 500)`;
  const select = db
    .prepare<Record<'first' | 'since', number>, number>(`SELECT duration_ms
      FROM (${newestOf('requests')} UNION ALL ${newestOf('(SELECT * FROM journal WHERE state > 0)')})
      ORDER BY id DESC LIMIT 500`)
    .pluck();
  return (since) => {
    const durations = select.all({ first: requestIdAt(since), since }).sort((a, b) => a - b);
    return durations[Math.ceil(durations.length * 0.95) - 1] ?? null;
  };
}
