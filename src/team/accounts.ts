import type { NanoUsd } from '../money.ts';
import type { LimitedAccount } from '../store/team/limits.ts';
import { type Demand, SLICE_POLICY, type SlicePolicy } from './policy.ts';
import type { Standing, SyncAnswer, SyncRow } from './protocol.ts';

export interface MessageOptions {
  /** All accounts, including past periods. */
  accounts: readonly LimitedAccount[];
  /** Start of each budget's current period, by the authority's clock. */
  running: ReadonlyMap<number, number>;
  /** Last known standing of each budget. */
  standings: ReadonlyMap<number, Standing>;
  demand: Demand;
  policy?: SlicePolicy;
  /** Amount that the first waiting request needs; 0 if none waits. */
  need?: NanoUsd;
  /** This gateway's monotonic time, ms. */
  nowMs: number;
  /** The gateway is stopping and returns all money. */
  isLeaving?: boolean;
}

/**
 * Rows of the next message. `d` is the account's new limit, at most the current one. Make it durable, with `heard`
 * undefined, before the message is sent: the authority counts its grants even if its answer is lost.
 */
export function messageRows(options: MessageOptions): SyncRow[] {
  const rows: SyncRow[] = [];
  for (const account of options.accounts) {
    const running = options.running.get(account.budgetId);
    if (account.start === running) rows.push(runningRow(account, options));
    else {
      const row = otherRow(account, running);
      if (account.heard?.limit !== row.d || account.heard.posted !== row.s) rows.push(row);
    }
  }
  return rows.sort((a, b) => a.b - b.b || a.p - b.p);
}

function runningRow(account: LimitedAccount, options: MessageOptions): SyncRow {
  const { demand, nowMs, standings, need = 0, isLeaving = false, policy = SLICE_POLICY } = options;
  const { budgetId, start, limit, posted, pending } = account;
  const { tight: isTight = false, starved: isStarved = false } = standings.get(budgetId) ?? {};
  // This gateway builds no reserve while another gateway's request waits for money.
  const desired = isStarved ? 0 : demand.desired(nowMs, isTight);
  const used = posted + pending;
  const room = limit - used;
  const isIdle = isLeaving || (need === 0 && pending === 0 && demand.quietMs(nowMs) > policy.idleMs);
  let keep = room;
  let wanted = Math.max(0, desired - room);
  if (isIdle) {
    keep = 0;
    wanted = 0;
  } else if (isTight) {
    keep = 0;
    wanted = desired;
  } else if (room > 2 * desired) {
    keep = desired;
    wanted = 0;
  }
  const declared = lowered(account, used + keep);
  return {
    b: budgetId,
    p: start,
    d: declared,
    s: posted,
    n: isLeaving ? 0 : Math.max(0, need - (declared - used)),
    w: wanted,
  };
}

/** A past period returns its free money. A future one, left over after the clock was set back, stays unchanged. */
function otherRow(account: LimitedAccount, running: number | undefined): SyncRow {
  const { budgetId, start, limit, posted, pending } = account;
  const isPast = running === undefined || start < running;
  return {
    b: budgetId,
    p: start,
    d: isPast ? lowered(account, posted + pending) : limit,
    s: posted,
    n: 0,
    w: 0,
  };
}

/**
 * Clamps a limit to [posted + pending, current limit]. After an overrun the current limit is the lower one, and wins.
 */
function lowered({ limit, posted, pending }: LimitedAccount, to: NanoUsd): NanoUsd {
  return Math.min(limit, Math.max(posted + pending, to));
}

/**
 * Account changes from the answer to the latest message. Don't pass an older answer: its limits may have been lowered
 * by the latest message. A row without an answer belongs to a period that the authority never opened.
 */
export function accountUpdates(sent: readonly SyncRow[], answer: SyncAnswer) {
  return sent.map(({ b, p, d, s }) => {
    const limit = answer.rows.find((row) => row.b === b && row.p === p)?.l ?? d;
    return { budgetId: b, start: p, limit, heard: { limit, posted: s } };
  });
}
