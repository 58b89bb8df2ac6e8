import { requestIdAt } from '../../ids.ts';
import { FIGURES_OF_RECORD } from '../archive/rollups.ts';
import { COUNTS } from '../archive/usage-sums.ts';
import { columnName } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { idsBefore } from '../database/sql-parts.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import { SOURCES } from '../ledger/record.ts';
import type { Membership } from './membership.ts';

/** The figures that a team gets, by their columns here and there. */
export const TEAM_FIGURES = ([...COUNTS, 'costNanoUsd', 'savedNanoUsd'] as const).map(columnName);

/** One key's usage of a model for a project in an hour. */
export type TeamUsageRow = {
  /** Start of the bucket, UTC ms: an hour, cut where a day begins in some time zone. */
  bucket: number;
  project: string;
  provider: string;
  model: string;
  key: string;
} & Record<(typeof TEAM_FIGURES)[number], number>;

/** Groupings of a report of the team's usage. */
export const TEAM_GROUPINGS = ['project', 'model', 'member', 'gateway', 'key', 'day', 'hour'] as const;
export type TeamGrouping = (typeof TEAM_GROUPINGS)[number];

/** Whose usage, over inclusive days of the team's time zone, YYYY-MM-DD. */
export interface TeamUsageQuery {
  groupBy: TeamGrouping;
  from: string;
  to: string;
}

/** Sums by one thing. */
export interface TeamUsageSum {
  key: string;
  /** The member's login role; null: of several. */
  member: string | null;
  figures: Record<(typeof TEAM_FIGURES)[number], number>;
}

export interface TeamUsage {
  /** `own`: only of gateways that the asking role has joined, since it may not see the others. */
  scope: 'team' | 'own';
  /** In no order. */
  sums: TeamUsageSum[];
}

/** Asks the team's database for sums. Throws GwError: 409 without a team, 503 if it is unreachable. */
export type AskTeamUsage = (query: TeamUsageQuery) => Promise<TeamUsage & { team: string; timezone: string }>;

/** One message: all rows of some buckets, as they are now. */
export interface TeamUsageBatch {
  seq: number;
  buckets: { bucket: number; version: number }[];
  rows: TeamUsageRow[];
}

/** A message has a day's buckets at most, and no further one once it sums so many rows: about 3 ms. */
const MAX_BUCKETS = 24;
const MAX_SUMMED = 2_000;
const QUARTER_MS = 900_000;
/** Longer names are cut: the team's database takes no longer ones. */
const NAME_LENGTH = 200;

const cut = (sql: string, name: string) => `substr(coalesce(${sql}, ''), 1, ${NAME_LENGTH}) AS "${name}"`;
/** SQL for the rows of a bucket, from usage `u`. */
const sums = (from: string) => `SELECT ? AS bucket, ${cut('p.name', 'project')}, ${cut('v.name', 'provider')},
  ${cut('m.name', 'model')}, ${cut("nullif(k.label, ''), CAST(k.id AS TEXT), 'unknown'", 'key')},
  ${TEAM_FIGURES.map((name) => `sum(u.${name}) AS ${name}`).join(', ')}
  FROM (${from}) u LEFT JOIN projects p ON p.id = u.project_id LEFT JOIN names v ON v.id = u.provider_id
  LEFT JOIN names m ON m.id = u.model_id LEFT JOIN keys k ON k.id = u.key_id GROUP BY 2, 3, 4, 5`;

/**
 * The oldest figures that the team has not heard; undefined: it has heard all. Counts the message before it is sent, so
 * that none has the number of another. Runs within a write transaction.
 */
export function takeTeamUsage(db: Db, { joinedAt }: Membership): TeamUsageBatch | undefined {
  const dirty = db
    .prepare<[], TeamUsageBatch['buckets'][number]>(`SELECT bucket, version FROM team_usage_dirty
      ORDER BY bucket LIMIT ${MAX_BUCKETS}`)
    .all();
  if (dirty.length === 0) return undefined;
  const ofBucket = db.prepare<[number, number], TeamUsageRow>(
    sums(`SELECT * FROM hourly_usage WHERE bucket = ? AND source = ${SOURCES.gw}`),
  );
  // In the hour of the join, what came in before it is nobody's but this gateway's.
  const sinceJoin = (bucket: number): TeamUsageRow[] => {
    const end = endOf(bucket);
    return db
      .prepare<[number, number, number], TeamUsageRow>(
        sums(`SELECT ${FIGURES_OF_RECORD} FROM requests WHERE id >= ${requestIdAt(joinedAt)} AND id < ${idsBefore(end)}
          AND at >= ? AND at < ? AND source = ${SOURCES.gw}`),
      )
      .all(bucket, joinedAt, end);
  };
  const buckets: TeamUsageBatch['buckets'] = [];
  const rows: TeamUsageRow[] = [];
  const count = db.prepare<[number], number>('SELECT count(*) FROM usage_hours WHERE bucket = ?').pluck();
  let summed = 0;
  for (const next of dirty) {
    const { bucket } = next;
    if (summed >= MAX_SUMMED) break;
    summed += count.get(bucket) ?? 0;
    buckets.push(next);
    rows.push(...(bucket >= joinedAt ? ofBucket.all(bucket, bucket) : sinceJoin(bucket)));
  }
  const seq = db
    .prepare<[], number>('UPDATE team_membership SET usage_seq = usage_seq + 1 RETURNING usage_seq')
    .pluck()
    .get();
  if (seq === undefined) return undefined;
  return { seq, buckets, rows };
}

/** Whether the team has not heard all. */
export function hasTeamUsage(db: Db): boolean {
  return db.prepare('SELECT 1 FROM team_usage_dirty LIMIT 1').get() !== undefined;
}

/** The team has these figures: what has not changed since need not be sent again. */
export function noteTeamUsage(db: Db, { buckets }: Pick<TeamUsageBatch, 'buckets'>): void {
  const remove = db.prepare('DELETE FROM team_usage_dirty WHERE bucket = ? AND version = ?');
  for (const { bucket, version } of buckets) remove.run(bucket, version);
}

/** Marks all usage since the join to be sent again: another server answers, which may have lost some of it. */
export function resendTeamUsage(db: Db): void {
  db.prepare(`
    INSERT INTO team_usage_dirty (bucket) SELECT DISTINCT h.bucket FROM usage_hours h, team_membership t
    WHERE h.bucket > t.joined_at - 3600000 ON CONFLICT DO UPDATE SET version = version + 1`).run();
}

/** The end of a bucket: usage has no finer unit than a quarter of an hour. */
function endOf(bucket: number): number {
  let end = bucket + QUARTER_MS;
  while (bucketOf(end) === bucket) end += QUARTER_MS;
  return end;
}
