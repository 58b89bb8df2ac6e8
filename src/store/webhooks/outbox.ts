import type { EventType } from '../ledger/event-types.ts';
import type { Db } from '../open.ts';
import { disableEndpoint, type WebhookFormat, type Write } from './endpoints.ts';

/** The right to make one attempt: an event, where it goes, and how it is signed. */
export interface Claim {
  id: number;
  /** Which claim of the delivery this is; its outcome counts only while no later one was made. */
  claims: number;
  /** Attempts that ended before. */
  attempts: number;
  endpointId: number;
  url: string;
  format: WebhookFormat;
  secret: string;
  oldSecret: string | null;
  oldSecretUntil: number | null;
  project: string;
  eventId: string;
  type: EventType;
  eventAt: number;
  /** The event's data, as JSON. */
  data: string;
  /** How many events it tells of, and when the first was; more than one in summaries of blocked requests only. */
  eventCount: number;
  since: number;
}

/** How an attempt ended. */
export interface Attempt {
  /** When it began. */
  at: number;
  durationMs: number;
  /** HTTP status; null if there was no answer. */
  status: number | null;
  error: string | null;
  /** The beginning of the answer, redacted. */
  response: string | null;
}

/**
 * The outbox. A delivery's states:
 *
 *     pending --claim--> sending --delivered--> delivered
 *        ^                  |  \---failed-----> failed --replay--> (a new delivery)
 *        +-retryAt, release-+
 *
 * A claim lapses: a daemon that dies leaves its delivery in `sending`, and the next claim takes it up again without
 * counting the attempt, since nobody knows whether it was made. Each transition is one transaction and tells whether
 * it took place; under a lapsed claim it does not.
 */
export interface Outbox {
  /** When there is something to claim next; undefined if nothing waits. */
  nextDueAt(): number | undefined;
  /** Claims the oldest open delivery of each endpoint, if it is due: at most one of an endpoint is ever in flight. */
  claim(options: { now: number; leaseMs: number }): Promise<Claim[]>;
  delivered(claim: Claim, attempt: Attempt, now: number): Promise<boolean>;
  retryAt(claim: Claim, attempt: Attempt, dueAt: number): Promise<boolean>;
  /** Gives the claim back: the attempt was not made, or not to its end. */
  release(claim: Claim, now: number): Promise<boolean>;
  /** The last attempt failed. Tells why the endpoint was disabled, if it was. */
  failed(claim: Claim, attempt: Attempt, now: number): Promise<{ changed: boolean; disabled: string | null }>;
}

/** So many events that fail one after the other disable their endpoint. */
export const FAILURES_TO_DISABLE = 20;
/** A chat gets one message about blocked requests in this time. */
export const SUMMARY_INTERVAL_MS = 60_000;
const GONE = 410;

const ACTIVE = `webhook_endpoints e JOIN projects p ON p.id = e.project_id
  WHERE e.disabled_at IS NULL AND p.plan IN ('pro', 'team') AND p.removed_at IS NULL`;
const HEADS = `SELECT (SELECT d.id FROM deliveries d WHERE d.endpoint_id = e.id AND d.finished_at IS NULL
  ORDER BY d.id LIMIT 1) FROM ${ACTIVE}`;
/** Summaries with something to tell. While one is on its way the next one waits, and counts on. */
const SUMMARIES = `SELECT s.* FROM blocked_summaries s WHERE s.event_count > 0
  AND s.endpoint_id IN (SELECT e.id FROM ${ACTIVE}) AND NOT EXISTS (SELECT 1 FROM deliveries d
  WHERE d.endpoint_id = s.endpoint_id AND d.finished_at IS NULL AND d.first_sequence IS NOT NULL)`;

export function createOutbox(db: Db, write: Write): Outbox {
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
  const claimHeads = db.prepare<[number, number], { id: number; claims: number }>(
    `UPDATE deliveries SET state = 'sending', claims = claims + 1, due_at = ?
     WHERE id IN (${HEADS}) AND due_at <= ? RETURNING id, claims`,
  );
  const selectClaim = db.prepare<[number], Claim>(
    `SELECT d.id, d.claims, d.attempts, d.endpoint_id AS endpointId, e.url, e.format, e.secret,
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

  function claim({ now, leaseMs }: { now: number; leaseMs: number }): Claim[] {
    for (const { endpointId } of queueSummaries.all(now, now, now)) {
      emptySummary.run(now + SUMMARY_INTERVAL_MS, endpointId);
    }
    return claimHeads.all(now + leaseMs, now).flatMap(({ id }) => selectClaim.get(id) ?? []);
  }

  function end(
    { id, claims }: Claim,
    attempt: Attempt,
    to: { state: 'delivered' | 'pending' | 'failed'; dueAt: number },
  ): boolean {
    const finishedAt = to.state === 'pending' ? null : to.dueAt;
    const changed = finish.run({ id, claims, ...attempt, ...to, finishedAt }).changes > 0;
    if (changed && finishedAt !== null) holdSummary.run(finishedAt + SUMMARY_INTERVAL_MS, id);
    return changed;
  }

  function failed(
    claim: Claim,
    attempt: Attempt,
    now: number,
  ): { changed: boolean; disabled: string | null } {
    if (!end(claim, attempt, { state: 'failed', dueAt: now })) return { changed: false, disabled: null };
    const failures = countFailure.get(claim.endpointId) ?? 0;
    const disabled = reasonToDisable(attempt.status, failures);
    if (disabled !== null) disableEndpoint(db, { id: claim.endpointId, reason: disabled, now });
    return { changed: true, disabled };
  }

  return {
    nextDueAt: () => nextDue.get() ?? undefined,
    claim: (options) => write(() => claim(options)),
    delivered: (claim, attempt, now) =>
      write(() => {
        const changed = end(claim, attempt, { state: 'delivered', dueAt: now });
        if (changed) forgetFailures.run(claim.endpointId);
        return changed;
      }),
    retryAt: (claim, attempt, dueAt) => write(() => end(claim, attempt, { state: 'pending', dueAt })),
    release: ({ id, claims }, now) => write(() => giveBack.run(now, id, claims).changes > 0),
    failed: (claim, attempt, now) => write(() => failed(claim, attempt, now)),
  };
}

function reasonToDisable(status: number | null, failures: number): string | null {
  if (status === GONE) return 'it answered 410 Gone';
  return failures >= FAILURES_TO_DISABLE ? `${failures} events in a row could not be delivered` : null;
}
