import type { Db } from '../database/open.ts';
import type { Attempt, Claim } from './claim.ts';
import { disableEndpoint, type Write } from './endpoints.ts';
import { prepareOutbox } from './outbox-statements.ts';

export type { Attempt, Claim } from './claim.ts';

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
export interface Outbox {
  /** When the next delivery is due; undefined if none is waiting. */
  nextDueAt(): Promise<number | undefined>;
  /** Moves blocked requests that an earlier version has queued one by one into the summaries. */
  foldBlocked(now: number): Promise<void>;
  /**
   * Claims the oldest open alert of each endpoint if it is due, else its oldest open summary of blocked requests. At most
   * one of each is in flight, so order holds within alerts and within summaries, and no summary delays an alert.
   */
  claim(options: { now: number; leaseMs: number }): Promise<Claim[]>;
  delivered(claim: Claim, attempt: Attempt, now: number): Promise<boolean>;
  retryAt(claim: Claim, attempt: Attempt, dueAt: number): Promise<boolean>;
  /** Gives the claim back: the attempt was not made, or was interrupted. */
  release(claim: Claim, now: number): Promise<boolean>;
  /** The last attempt failed. `disabled` is why the endpoint was disabled; null if it was not. */
  failed(claim: Claim, attempt: Attempt, now: number): Promise<{ changed: boolean; disabled: string | null }>;
}

/** Consecutive failed deliveries that disable an endpoint. */
const FAILURES_TO_DISABLE = 20;
/** An endpoint gets at most one summary of blocked requests in this time. */
const SUMMARY_INTERVAL_MS = 60_000;
const GONE = 410;

export function createOutbox(db: Db, write: Write): Outbox {
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
    nextDueAt: async () => sql.nextDue.get() ?? undefined,
    foldBlocked: (now) =>
      write(() => {
        sql.foldSingle.run(now);
        sql.deleteSingle.run();
      }),
    claim: (options) => write(() => claim(options)),
    delivered: (claim, attempt, now) =>
      write(() => {
        const changed = end(claim, attempt, { state: 'delivered', dueAt: now });
        if (changed) sql.forgetFailures.run(claim.endpointId);
        return changed;
      }),
    retryAt: (claim, attempt, dueAt) => write(() => end(claim, attempt, { state: 'pending', dueAt })),
    release: ({ id, claims }, now) => write(() => sql.giveBack.run(now, id, claims).changes > 0),
    failed: (claim, attempt, now) => write(() => failed(claim, attempt, now)),
  };
}

function reasonToDisable(status: number | null, failures: number): string | null {
  if (status === GONE) return 'it answered 410 Gone';
  return failures >= FAILURES_TO_DISABLE ? `${failures} events in a row could not be delivered` : null;
}
