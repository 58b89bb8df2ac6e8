import type { Db } from '../database/open.ts';
import type { Claim } from './claim.ts';

const ACTIVE = `webhook_endpoints e JOIN projects p ON p.id = e.project_id
  WHERE e.disabled_at IS NULL AND p.plan IN ('pro', 'team') AND p.removed_at IS NULL`;
const OLDEST = 'SELECT d.id FROM deliveries d WHERE d.endpoint_id = e.id AND d.finished_at IS NULL';
/** What each endpoint gets next: its oldest alert, or its oldest summary of blocked requests if no alert is open. */
const HEADS = `SELECT coalesce((${OLDEST} AND d.first_sequence IS NULL ORDER BY d.id LIMIT 1),
  (${OLDEST} ORDER BY d.id LIMIT 1)) FROM ${ACTIVE}`;
/** Blocked requests that an earlier version has queued one by one. */
const SINGLE = `SELECT d.id FROM deliveries d JOIN events v ON v.sequence = d.sequence
  WHERE d.state = 'pending' AND d.first_sequence IS NULL AND v.type = 'request.blocked'`;
/** Summaries that are not empty. While one is being delivered, the next one waits and keeps counting. */
const SUMMARIES = `SELECT s.* FROM blocked_summaries s WHERE s.event_count > 0
  AND s.endpoint_id IN (SELECT e.id FROM ${ACTIVE}) AND NOT EXISTS (SELECT 1 FROM deliveries d
  WHERE d.endpoint_id = s.endpoint_id AND d.finished_at IS NULL AND d.first_sequence IS NOT NULL)`;

/** The prepared statements of the outbox. Run those that write within a write transaction. */
export function prepareOutbox(db: Db) {
  const nextDue = db
    .prepare<[], number | null>(
      `SELECT min(due_at) FROM (SELECT due_at FROM deliveries WHERE id IN (${HEADS})
       UNION ALL SELECT due_at FROM (${SUMMARIES}))`,
    )
    .pluck();
  const queueSummaries = db.prepare<[number, number, number], { endpointId: number }>(
    `INSERT INTO deliveries (endpoint_id, sequence, first_sequence, event_count, due_at, created_at)
     SELECT endpoint_id, sequence, first_sequence, event_count, ?, ? FROM (${SUMMARIES}) WHERE due_at <= ?
     RETURNING endpoint_id AS endpointId`,
  );
  const emptySummary = db.prepare<[number, number]>(
    'UPDATE blocked_summaries SET event_count = 0, due_at = ? WHERE endpoint_id = ?',
  );
  const foldSingle = db.prepare<[number]>(
    `INSERT INTO blocked_summaries (endpoint_id, event_count, first_sequence, sequence, due_at)
     SELECT endpoint_id, sum(event_count), min(sequence), max(sequence), ? FROM deliveries WHERE id IN (${SINGLE})
     GROUP BY endpoint_id ON CONFLICT DO UPDATE SET event_count = event_count + excluded.event_count,
     sequence = max(sequence, excluded.sequence), first_sequence = iif(event_count = 0, excluded.first_sequence,
     min(first_sequence, excluded.first_sequence))`,
  );
  const deleteSingle = db.prepare(`DELETE FROM deliveries WHERE id IN (${SINGLE})`);
  const claimHeads = db.prepare<[number, number], { id: number; claims: number }>(
    `UPDATE deliveries SET state = 'sending', claims = claims + 1, due_at = ?
     WHERE id IN (${HEADS}) AND due_at <= ? RETURNING id, claims`,
  );
  const selectClaim = db.prepare<[number], Claim>(
    `SELECT d.id, d.claims, d.due_at AS lapsesAt, d.attempts, d.endpoint_id AS endpointId, e.url, e.format, e.secret,
     e.old_secret AS oldSecret, e.old_secret_until AS oldSecretUntil, p.name AS project, v.id AS eventId, v.type,
     v.created_at AS eventAt, v.data, d.event_count AS eventCount, f.created_at AS since
     FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN projects p ON p.id = e.project_id
     JOIN events v ON v.sequence = d.sequence JOIN events f ON f.sequence = coalesce(d.first_sequence, d.sequence)
     WHERE d.id = ?`,
  );
  const finish = db.prepare(
    `UPDATE deliveries SET state = @state, due_at = @dueAt, finished_at = @finishedAt, attempts = attempts + 1,
     attempted_at = @at, duration_ms = @durationMs, status = @status, error = @error, response = @response
     WHERE id = @id AND claims = @claims AND state = 'sending'`,
  );
  const giveBack = db.prepare<[number, number, number]>(
    "UPDATE deliveries SET state = 'pending', due_at = ? WHERE id = ? AND claims = ? AND state = 'sending'",
  );
  const holdSummary = db.prepare<[number, number]>(
    `UPDATE blocked_summaries SET due_at = max(due_at, ?)
     WHERE endpoint_id = (SELECT endpoint_id FROM deliveries WHERE id = ? AND first_sequence IS NOT NULL)`,
  );
  const forgetFailures = db.prepare<[number]>(
    'UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ? AND consecutive_failures > 0',
  );
  const countFailure = db
    .prepare<[number], number>(
      'UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1 WHERE id = ? RETURNING consecutive_failures',
    )
    .pluck();
  return {
    nextDue,
    queueSummaries,
    emptySummary,
    foldSingle,
    deleteSingle,
    claimHeads,
    selectClaim,
    finish,
    giveBack,
    holdSummary,
    forgetFailures,
    countFailure,
  };
}
