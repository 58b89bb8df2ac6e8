import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { oldestRecordAt } from '../database/daemons.ts';
import { idsBefore } from '../database/id-range.ts';
import type { Db } from '../database/open.ts';
import type { Charge } from '../ledger/account.ts';
import { IS_BILLED, SOURCES } from '../ledger/record.ts';
import type { BudgetPeriod, EachKind } from '../ledger/terms.ts';

const HOUR_MS = 3_600_000;

/** The requests that a new budget counts; undefined fields match all. */
export interface CountedRequests {
  projectId: number;
  repo?: string | undefined;
  keyId?: number | undefined;
  agent?: string | undefined;
  session?: string | undefined;
  /** UTC milliseconds. */
  since: number;
}

/** SQL for what requests are of. */
const VALUES: Record<EachKind, string> = {
  key: 'CAST(key_id AS TEXT)',
  agent: '(SELECT name FROM names WHERE id = agent_id)',
  session: "coalesce((SELECT external_id FROM sessions WHERE id = session_id), '')",
};

type Parameters = Record<string, string | number>;

function conditionsOf({ projectId, repo = '', keyId = 0, agent = '', session = '' }: CountedRequests) {
  const where = [
    'project_id = @projectId',
    ...(repo === '' ? [] : ['repo_id = (SELECT id FROM names WHERE name = @repo)']),
    ...(keyId === 0 ? [] : ['key_id = @keyId']),
    ...(agent === '' ? [] : ['agent_id = (SELECT id FROM names WHERE name = @agent)']),
    ...(session === ''
      ? []
      : ['session_id IN (SELECT id FROM sessions WHERE external_id = @session AND project_id = @projectId)']),
  ].join(' AND ');
  const parameters: Parameters = { projectId, repo, keyId, agent, session };
  return { where, parameters };
}

/** What was spent before a budget was set; by session, agent or key for a cap for each of these, else by ''. */
export function spentSince(
  db: Db,
  counted: CountedRequests,
  period: BudgetPeriod,
  each?: EachKind,
): Map<string, NanoUsd> {
  const { where, parameters } = conditionsOf(counted);
  const spent = new Map<string, NanoUsd>();
  const sum = (source: string, column: string, from: number, until = Number.MAX_SAFE_INTEGER) => {
    const rows = db
      .prepare<[Parameters], { value: string; cost: NanoUsd }>(
        `SELECT ${each ? VALUES[each] : "''"} AS value, sum(cost_nano_usd) AS cost FROM ${source}
         WHERE source = ${SOURCES.gw} AND ${column} >= @from AND ${column} < @until AND ${where} GROUP BY 1`,
      )
      .all({ ...parameters, from, until });
    for (const { value, cost } of rows) spent.set(value, (spent.get(value) ?? 0) + cost);
    return spent;
  };
  const { since } = counted;
  if (period !== 'rolling') return sum('usage', 'bucket', since);
  // A window starts within an hour. If that hour's records may have been pruned, the whole hour counts.
  const hour = since - (since % HOUR_MS);
  const oldest = oldestRecordAt(db);
  if (oldest === undefined || oldest > since) return sum('usage', 'bucket', hour);
  const until = hour + HOUR_MS;
  const inHour = `id >= ${requestIdAt(since)} AND id < ${idsBefore(until)}`;
  sum(`(SELECT * FROM request_log WHERE ${IS_BILLED} AND ${inHour})`, 'at', since, until);
  return sum('usage', 'bucket', until);
}

/** The sessions, agents or keys of running requests. */
export function runningValues(db: Db, counted: CountedRequests, each: EachKind): string[] {
  const { where, parameters } = conditionsOf(counted);
  return db
    .prepare<[Parameters], string>(
      `SELECT DISTINCT ${VALUES[each]} FROM journal WHERE state = 0 AND ${IS_BILLED} AND at >= @from AND ${where}`,
    )
    .pluck()
    .all({ ...parameters, from: counted.since });
}

/** Charges open holds to a new budget too, so that they settle in it. Returns what they hold. */
export function chargeOpenHolds(db: Db, counted: CountedRequests, [budgetId, start]: Charge): NanoUsd {
  const { where, parameters } = conditionsOf(counted);
  const amounts = db
    .prepare<[Parameters], number>(
      `UPDATE journal SET charges = json_insert(charges, '$[#]', json_array(@budgetId, CAST(@start AS INTEGER)))
       WHERE state = 0 AND ${IS_BILLED} AND at >= @from AND ${where} RETURNING hold_nano_usd`,
    )
    .pluck()
    .all({ ...parameters, budgetId, start, from: counted.since });
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
