import type { RequestId } from '../../../ids.ts';
import type { NanoUsd } from '../../../money.ts';
import type { Db } from '../../database/open.ts';

/**
 * `open`: the request waits for an answer. `expired`: there was none in time. `ended`: the request needs none any more,
 * because its client or its daemon is gone, or there was room.
 */
const ASK_STATES = ['open', 'approved', 'denied', 'expired', 'ended'] as const;
export type AskState = (typeof ASK_STATES)[number];

/** A request that waits for its owner's answer. */
interface NewAsk {
  requestId: RequestId;
  projectId: number;
  /** The budget that has no room. */
  budgetId: number;
  keyId: number;
  model: string;
  agent: string;
  /** The least that it can do with. */
  least: NanoUsd;
  /** What is held if it is approved. */
  needed: NanoUsd;
  /** UTC milliseconds. */
  expiresAt: number;
}

/** What has become of an ask. */
interface AskAnswer {
  state: AskState;
  budgetId: number;
  /** The most that the approved request may hold, whatever its budgets have left; null: they have to have room. */
  allowed: NanoUsd | null;
  /** 1 if the project was paused, or the key revoked, while the request waited. */
  isShut: number;
}

/** Writes the asks of one daemon. Call it within a write transaction. */
export interface AskRows {
  /** Opens an ask, or opens it again. Asks that ended a day ago are deleted. */
  open(ask: NewAsk, now: number): void;
  read(requestId: RequestId): AskAnswer | undefined;
  /** Ends an ask, unless it was answered. */
  close(requestId: RequestId, state: AskState): void;
  /** Ends the open asks of a daemon that is gone. */
  closeAll(slot: number): void;
}

const KEPT_MS = 86_400_000;

export function createAskRows(db: Db, slot: number): AskRows {
  const prune = db.prepare<[number]>("DELETE FROM asks WHERE state <> 'open' AND expires_at < ?");
  const insert = db.prepare<[Record<string, string | number>]>(
    `INSERT INTO asks (request_id, project_id, budget_id, key_id, slot, model, agent, least_nano_usd, needed_nano_usd,
     state, created_at, expires_at)
     VALUES (@requestId, @projectId, @budgetId, @keyId, @slot, @model, @agent, @least, @needed, 'open', @now, @expiresAt)
     ON CONFLICT DO UPDATE SET budget_id = @budgetId, least_nano_usd = @least, needed_nano_usd = @needed, state = 'open'`,
  );
  const select = db.prepare<[number], AskAnswer>(
    `SELECT a.state, a.budget_id AS budgetId, a.allowed_nano_usd AS allowed,
     p.paused_at IS NOT NULL OR p.removed_at IS NOT NULL OR k.revoked_at IS NOT NULL AS isShut FROM asks a
     JOIN projects p ON p.id = a.project_id LEFT JOIN keys k ON k.id = a.key_id WHERE a.request_id = ?`,
  );
  const close = db.prepare<[string, number]>(
    "UPDATE asks SET state = ? WHERE request_id = ? AND state = 'open'",
  );
  const closeAll = db.prepare<[number]>("UPDATE asks SET state = 'ended' WHERE slot = ? AND state = 'open'");
  return {
    open(ask, now) {
      prune.run(now - KEPT_MS);
      insert.run({ ...ask, slot, now });
    },
    read: (requestId) => select.get(requestId),
    close: (requestId, state) => close.run(state, requestId),
    closeAll: (deadSlot) => closeAll.run(deadSlot),
  };
}
