import type { Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { disableEndpoint, type Endpoint, type Write } from './endpoints.ts';
import type { EventType } from './event-types.ts';

const ACTIVE = `webhook_endpoints e JOIN projects p ON p.id = e.project_id
  WHERE e.disabled_at IS NULL AND p.plan IN ('pro', 'team') AND p.removed_at IS NULL`;
const OLDEST = 'SELECT d.id FROM deliveries d WHERE d.endpoint_id = e.id AND d.finished_at IS NULL';
/** Each endpoint's next delivery: its oldest alert, or its oldest summary of blocked requests if no alert is open. */
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
function prepareOutbox(db: Db) {
  return {
    nextDue: db
      .prepare<[], number | null>(`SELECT min(due_at) FROM (SELECT due_at FROM deliveries
        WHERE id IN (${HEADS}) UNION ALL SELECT due_at FROM (${SUMMARIES}))`)
      .pluck(),
    queueSummaries: db.prepare<[number, number, number], { endpointId: number }>(`
      INSERT INTO deliveries (endpoint_id, sequence, first_sequence, event_count, due_at, created_at)
      SELECT endpoint_id, sequence, first_sequence, event_count, ?, ? FROM (${SUMMARIES}) WHERE due_at <= ?
      RETURNING endpoint_id AS endpointId`),
    emptySummary: db.prepare<[number, number]>(`UPDATE blocked_summaries SET event_count = 0, due_at = ?
      WHERE endpoint_id = ?`),
    foldSingle: db.prepare<[number]>(`
      INSERT INTO blocked_summaries (endpoint_id, event_count, first_sequence, sequence, due_at)
      SELECT endpoint_id, sum(event_count), min(sequence), max(sequence), ? FROM deliveries WHERE id IN (${SINGLE})
      GROUP BY endpoint_id ON CONFLICT DO UPDATE SET event_count = event_count + excluded.event_count,
      sequence = max(sequence, excluded.sequence), first_sequence = iif(event_count = 0, excluded.first_sequence,
      min(first_sequence, excluded.first_sequence))`),
    deleteSingle: db.prepare(`DELETE FROM deliveries WHERE id IN (${SINGLE})`),
    claimHeads: db.prepare<[number, number], { id: number; claims: number }>(`
      UPDATE deliveries SET state = 'sending', claims = claims + 1, due_at = ?
      WHERE id IN (${HEADS}) AND due_at <= ? RETURNING id, claims`),
    selectClaim: db.prepare<[number], Claim>(`
      SELECT d.id, d.claims, d.due_at AS lapsesAt, d.attempts, d.endpoint_id AS endpointId, e.url, e.format, e.secret,
      e.old_secret AS oldSecret, e.old_secret_until AS oldSecretUntil, p.name AS project, v.id AS eventId, v.type,
      v.created_at AS eventAt, v.data, d.event_count AS eventCount, f.created_at AS since
      FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN projects p ON p.id = e.project_id
      JOIN events v ON v.sequence = d.sequence JOIN events f ON f.sequence = coalesce(d.first_sequence, d.sequence)
      WHERE d.id = ?`),
    finish: db.prepare(`
      UPDATE deliveries SET state = @state, due_at = @dueAt, finished_at = @finishedAt, attempts = attempts + 1,
      attempted_at = @at, duration_ms = @durationMs, status = @status, error = @error, response = @response
      WHERE id = @id AND claims = @claims AND state = 'sending'`),
    giveBack: db.prepare<[number, number, number]>(`UPDATE deliveries SET state = 'pending', due_at = ?
      WHERE id = ? AND claims = ? AND state = 'sending'`),
    holdSummary: db.prepare<[number, number]>(`UPDATE blocked_summaries SET due_at = max(due_at, ?)
      WHERE endpoint_id = (SELECT endpoint_id FROM deliveries WHERE id = ? AND first_sequence IS NOT NULL)`),
    forgetFailures: db.prepare<[number]>(`UPDATE webhook_endpoints SET consecutive_failures = 0 WHERE id = ?
      AND consecutive_failures > 0`),
    countFailure: db
      .prepare<[number], number>(`UPDATE webhook_endpoints SET consecutive_failures = consecutive_failures + 1
        WHERE id = ? RETURNING consecutive_failures`)
      .pluck(),
  };
}

/**
 * A claimed delivery: the right to make one attempt, with the event, its destination and its signing secrets. `claims` is
 * the number of this claim, whose outcome is ignored once there is a later one.
 */
export interface Claim
  extends Pick<Row<'deliveries'>, 'id' | 'claims' | 'attempts' | 'endpointId' | 'eventCount'>,
    Pick<Endpoint, 'url' | 'format' | 'secret' | 'oldSecret' | 'oldSecretUntil' | 'project'> {
  /** When another daemon may claim the delivery. */
  lapsesAt: number;
  eventId: string;
  type: EventType;
  eventAt: number;
  /** The event's data, as JSON. */
  data: string;
  /** The time of the first event; only summaries of blocked requests have more than one. */
  since: number;
}

/** How an attempt ended. */
export interface Attempt {
  /** When it started. */
  at: number;
  durationMs: number;
  /** HTTP status; null if there was no answer. */
  status: number | null;
  error: string | null;
  /** The start of the response body, redacted. */
  response: string | null;
}

/**
 * The queue of deliveries. The states of a delivery:
 *
 *     pending --claim--> sending --delivered--> delivered
 *        ^                  |  \---failed-----> failed --replay--> (a new delivery)
 *        +-retryAt, release-+
 *
 * A claim is a lease: if its daemon dies, the delivery stays in `sending` until the claim lapses and another daemon
 * claims it. That attempt is not counted, since nobody knows whether it was made. Each transition is one transaction
 * and returns whether it happened; under a claim that another has replaced, it does not.
 */
export type Outbox = ReturnType<typeof createOutbox>;

/** Consecutive failed deliveries that disable an endpoint. */
const FAILURES_TO_DISABLE = 20;
/** An endpoint gets at most one summary of blocked requests in this time. */
const SUMMARY_INTERVAL_MS = 60_000;
const GONE = 410;

export function createOutbox(db: Db, write: Write) {
  const sql = prepareOutbox(db);

  function claim({ now, leaseMs }: { now: number; leaseMs: number }): Claim[] {
    for (const { endpointId } of sql.queueSummaries.all(now, now, now)) {
      sql.emptySummary.run(now + SUMMARY_INTERVAL_MS, endpointId);
    }
    return sql.claimHeads.all(now + leaseMs, now).flatMap(({ id }) => sql.selectClaim.get(id) ?? []);
  }

  function end(
    { id, claims }: Claim,
    attempt: Attempt,
    to: { state: 'delivered' | 'pending' | 'failed'; dueAt: number },
  ): boolean {
    const finishedAt = to.state === 'pending' ? null : to.dueAt;
    const changed = sql.finish.run({ id, claims, ...attempt, ...to, finishedAt }).changes > 0;
    if (changed && finishedAt !== null) sql.holdSummary.run(finishedAt + SUMMARY_INTERVAL_MS, id);
    return changed;
  }

  function failed(
    claim: Claim,
    attempt: Attempt,
    now: number,
  ): { changed: boolean; disabled: string | null } {
    if (!end(claim, attempt, { state: 'failed', dueAt: now })) return { changed: false, disabled: null };
    const failures = sql.countFailure.get(claim.endpointId) ?? 0;
    const disabled = reasonToDisable(attempt.status, failures);
    if (disabled !== null) disableEndpoint(db, { id: claim.endpointId, reason: disabled, now });
    return { changed: true, disabled };
  }

  return {
    /** When the next delivery is due; undefined if none is waiting. */
    nextDueAt: async (): Promise<number | undefined> => sql.nextDue.get() ?? undefined,
    /** Moves blocked requests that an earlier version has queued one by one into the summaries. */
    foldBlocked: (now: number): Promise<void> =>
      write(() => {
        sql.foldSingle.run(now);
        sql.deleteSingle.run();
      }),
    /**
     * Claims the oldest open alert of each endpoint if it is due, else its oldest open summary of blocked requests. At most
     * one of each is in flight, so order holds within alerts and within summaries, and no summary delays an alert.
     */
    claim: (options: { now: number; leaseMs: number }): Promise<Claim[]> => write(() => claim(options)),
    delivered: (claim: Claim, attempt: Attempt, now: number): Promise<boolean> =>
      write(() => {
        const changed = end(claim, attempt, { state: 'delivered', dueAt: now });
        if (changed) sql.forgetFailures.run(claim.endpointId);
        return changed;
      }),
    retryAt: (claim: Claim, attempt: Attempt, dueAt: number): Promise<boolean> =>
      write(() => end(claim, attempt, { state: 'pending', dueAt })),
    /** Gives the claim back: the attempt was not made, or was interrupted. */
    release: ({ id, claims }: Claim, now: number): Promise<boolean> =>
      write(() => sql.giveBack.run(now, id, claims).changes > 0),
    /** The last attempt failed. `disabled` is why the endpoint was disabled; null if it was not. */
    failed: (
      claim: Claim,
      attempt: Attempt,
      now: number,
    ): Promise<{ changed: boolean; disabled: string | null }> => write(() => failed(claim, attempt, now)),
  };
}

function reasonToDisable(status: number | null, failures: number): string | null {
  if (status === GONE) return 'it answered 410 Gone';
  return failures >= FAILURES_TO_DISABLE ? `${failures} events in a row could not be delivered` : null;
}
