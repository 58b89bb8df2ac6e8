import type { Statement } from 'better-sqlite3';
import { expect } from 'vitest';
import type { Db } from '../../src/store/database/open.ts';

/** The keys of each kind of sums. */
const SUMS = [
  '1, 0, bucket, 0, 0, 0',
  '2, project_id, bucket, 0, 0, 0',
  '3, project_id, day, 0, 0, 0',
  '4, 0, day, provider_id, model_id, 0',
  '5, project_id, day, provider_id, model_id, 0',
  '6, 0, bucket, provider_id, model_id, 0',
  '7, 0, bucket, 0, 0, agent_id',
  '8, project_id, bucket, provider_id, model_id, 0',
  '9, project_id, bucket, 0, 0, agent_id',
  '10, 0, day, provider_id, model_id, agent_id',
  '11, project_id, day, provider_id, model_id, agent_id',
]
  .map((key) => `SELECT ${key}, sum(requests), sum(cost_nano_usd) FROM hours GROUP BY 1, 2, 3, 4, 5, 6`)
  .join(' UNION ALL ');

/**
 * What must hold of any database at rest between transactions, said in SQL alone: it needs no knowledge of how the
 * database came to be, so it serves after a kill -9 too.
 */
const RULES: Record<string, string> = {
  'pending is the sum of the open holds': `
    WITH charged AS (SELECT json_extract(c.value, '$[0]') AS budget_id, json_extract(c.value, '$[1]') AS start,
      sum(h.hold_nano_usd - coalesce(json_extract(c.value, '$[2]'), 0)) AS held FROM open_holds h, json_each(h.charges) c GROUP BY 1, 2)
    SELECT p.budget_id, p.start, p.pending_nano_usd, c.held FROM budget_periods p
      LEFT JOIN charged c ON c.budget_id = p.budget_id AND c.start = p.start
      WHERE p.pending_nano_usd <> coalesce(c.held, 0)
    UNION ALL SELECT c.budget_id, c.start, NULL, c.held FROM charged c
      WHERE NOT EXISTS (SELECT 1 FROM budget_periods p WHERE p.budget_id = c.budget_id AND p.start = c.start)`,
  'a request is open or recorded, not both':
    'SELECT h.id FROM open_holds h JOIN request_log r ON r.id = h.id',
  'the rollups agree with the records': `
    WITH u AS (SELECT project_id, provider_id, model_id, sum(requests) n, sum(blocked_requests) b,
        sum(input_tokens) i, sum(output_tokens) o, sum(cost_nano_usd) c FROM usage GROUP BY 1, 2, 3),
      r AS (SELECT project_id, provider_id, model_id, sum(1 + folded) n, sum(iif(outcome = 1, 1 + folded, 0)) b,
        sum(input_tokens) i, sum(output_tokens) o, sum(cost_nano_usd) c FROM request_log GROUP BY 1, 2, 3)
    SELECT * FROM (SELECT * FROM u EXCEPT SELECT * FROM r)
    UNION ALL SELECT * FROM (SELECT * FROM r EXCEPT SELECT * FROM u)`,
  'the sums agree with the rollups': `
    WITH hours AS (SELECT *, bucket / 86400000 * 86400000 AS day FROM hourly_usage
        WHERE bucket < (SELECT value FROM meta WHERE key = 'usage_summed_until')),
      expected AS (${SUMS}),
      stored AS (SELECT kind, project_id, start, provider_id, model_id, agent_id, requests, cost_nano_usd FROM usage_sums)
    SELECT * FROM (SELECT * FROM expected EXCEPT SELECT * FROM stored)
    UNION ALL SELECT * FROM (SELECT * FROM stored EXCEPT SELECT * FROM expected)`,
  'a request is in the journal or archived, not both':
    'SELECT j.id FROM journal j JOIN requests r ON r.id = j.id',
  'the sessions agree with the archived records': `
    SELECT * FROM (SELECT id, requests, input_tokens, cost_nano_usd FROM sessions WHERE requests > 0
      EXCEPT SELECT session_id, sum(1 + folded), sum(input_tokens), sum(cost_nano_usd) FROM requests GROUP BY 1)`,
  'each record of a refusal has its event': `
    SELECT * FROM (SELECT (SELECT count(*) FROM request_log WHERE outcome = 1) AS refused,
      (SELECT count(*) FROM events WHERE type = 'request.blocked') AS told) WHERE refused <> told`,
  'a stored window is the sum of its minutes': `
    SELECT b.id, b.window_from, b.window_posted_nano_usd FROM budgets b WHERE b.removed_at IS NULL
      AND b.window_posted_nano_usd <> (SELECT coalesce(sum(p.posted_nano_usd), 0) FROM budget_periods p
        WHERE p.budget_id = b.id AND p.start > b.window_from)`,
  'a hold names a budget once': `
    SELECT h.id FROM open_holds h, json_each(h.charges) c GROUP BY h.id, json_extract(c.value, '$[0]') HAVING count(*) > 1`,
};

type Rule = [name: string, offenders: Statement<[]>];
const prepared = new WeakMap<Db, Rule[]>();

/** Fails with the offending rows. */
export function checkDatabase(db: Db): void {
  let rules = prepared.get(db);
  if (!rules) {
    rules = Object.entries(RULES).map(([name, sql]): Rule => [name, db.prepare<[]>(sql)]);
    prepared.set(db, rules);
  }
  for (const [name, offenders] of rules) {
    const rows = offenders.all();
    if (rows.length > 0) expect(rows, name).toEqual([]);
  }
}

/** As `checkDatabase`, and that SQLite finds its file whole: for databases that lived through something. */
export function checkFile(db: Db): void {
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(db.pragma('foreign_key_check')).toEqual([]);
  checkDatabase(db);
}
