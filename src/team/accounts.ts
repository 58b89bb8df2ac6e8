import type { NanoUsd } from '../money.ts';
import { type Demand, SLICE_POLICY, type SlicePolicy } from './policy.ts';
import type { Standing, SyncAnswer, SyncRow } from './protocol.ts';

/** A team budget in one period, as this gateway has it. posted + pending never passes the limit. */
export interface TeamAccount {
  budgetId: number;
  /** The start of the period, UTC ms. */
  start: number;
  /** What this gateway may spend in the period, in all: at most its allowance at the authority. */
  limit: NanoUsd;
  posted: NanoUsd;
  pending: NanoUsd;
  /** What the authority has heard last; undefined where it may know more or less than that. */
  heard?: { limit: NanoUsd; posted: NanoUsd } | undefined;
}

export interface MessageOptions {
  /** All accounts, those of past periods included. */
  accounts: readonly TeamAccount[];
  /** The start of the running period of each budget, by the authority's clock. */
  running: ReadonlyMap<number, number>;
  /** What was heard of each budget. */
  standings: ReadonlyMap<number, Standing>;
  demand: Demand;
  policy?: SlicePolicy;
  /** What the request at the head of the line needs; 0: none waits. */
  need?: NanoUsd;
  /** This gateway's time, ms. */
  nowMs: number;
  /** It stops, and returns everything. */
  isLeaving?: boolean;
}

/**
 * The rows of the next message. `d` is the account's new limit, which is at most its present one: make it durable, with
 * `heard` undefined, before the message is sent. The authority counts what it grants even if its answer is lost.
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

function runningRow(account: TeamAccount, options: MessageOptions): SyncRow {
  const { demand, nowMs, standings, need = 0, isLeaving = false, policy = SLICE_POLICY } = options;
  const { budgetId, start, limit, posted, pending } = account;
  const { tight: isTight = false, starved: isStarved = false } = standings.get(budgetId) ?? {};
  // A request of another gateway waits for what this one would only like to have.
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

/** A past period returns what no request holds. A later one, which a clock that was put back left, stays as it is. */
function otherRow(account: TeamAccount, running: number | undefined): SyncRow {
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

/** A limit is never below what is posted and held, nor above the present one. An overrun may have passed that. */
function lowered({ limit, posted, pending }: TeamAccount, to: NanoUsd): NanoUsd {
  return Math.min(limit, Math.max(posted + pending, to));
}

/** Changes of an account that an answer brings. */
export interface AccountUpdate {
  budgetId: number;
  start: number;
  limit: NanoUsd;
  heard: { limit: NanoUsd; posted: NanoUsd };
}

/**
 * What the answer to the latest message changes. Pass no other answer: an older one tells of limits that the latest
 * message may have lowered since. A row without an answer is of a period that the authority never opened.
 */
export function accountUpdates(sent: readonly SyncRow[], answer: SyncAnswer): AccountUpdate[] {
  return sent.map(({ b, p, d, s }) => {
    const limit = answer.rows.find((row) => row.b === b && row.p === p)?.l ?? d;
    return { budgetId: b, start: p, limit, heard: { limit, posted: s } };
  });
}
