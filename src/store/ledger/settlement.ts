import type { Clock } from '../../clock.ts';
import { timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Db } from '../database/open.ts';
import type { AskRows } from './asks/ask-rows.ts';
import type { Balances } from './balances.ts';
import type { Journal, OpenHold } from './journal.ts';
import { FLAGS, type RequestRecord } from './record.ts';
import { remainingIn } from './standing.ts';

export type SettleResult =
  /** `remaining` is the room of the tightest budget; null if no budget was charged. */
  | { kind: 'settled'; remaining: NanoUsd | null }
  /** The request has no open hold. */
  | { kind: 'resolved_before' };

export interface SettlementsOptions {
  db: Db;
  clock: Clock;
  balances: Balances;
  journal: Journal;
  /** Writes the record of a request that had a hold. */
  writeRecord: (record: RequestRecord) => void;
  asks: Pick<AskRows, 'closeAll'>;
}

/** Turns holds into spend. Each function runs within a batch. */
export interface Settlements {
  settle(record: RequestRecord): SettleResult;
  /** Closes the holds of a daemon that is gone, and ends its questions; returns how many holds. */
  closeHolds(slot: number, instanceId?: string): number;
}

export function createSettlements(options: SettlementsOptions): Settlements {
  const { db, clock, balances, journal, writeRecord, asks } = options;
  const selectOwner = db.prepare<[number], string>('SELECT instance_id FROM daemons WHERE slot = ?').pluck();

  function settle(record: RequestRecord): SettleResult {
    const { projectId, costNanoUsd } = record;
    const hold = journal.holdOf(record.id);
    if (!hold) return { kind: 'resolved_before' };
    if (hold.charges.length === 0) {
      writeRecord(record);
      return { kind: 'settled', remaining: null };
    }
    balances.post(projectId, hold.charges, hold.amount, costNanoUsd);
    const overrun = costNanoUsd > hold.amount;
    writeRecord(overrun ? { ...record, flags: record.flags | FLAGS.overrun } : record);
    const standings = balances.standingsFor(record);
    return { kind: 'settled', remaining: standings.length > 0 ? remainingIn(standings) : null };
  }

  return {
    settle,
    closeHolds(slot, instanceId) {
      const owner = instanceId === undefined ? undefined : selectOwner.get(slot);
      if (owner !== undefined && owner !== instanceId) return 0;
      asks.closeAll(slot);
      const open = journal.ofSlot(slot);
      for (const hold of open) settle(crashRecord(hold, clock.now()));
      return open.length;
    },
  };
}

/** The record of a request whose daemon has died: the provider may have charged all that was held. */
function crashRecord(hold: OpenHold, now: number): RequestRecord {
  return {
    ...hold,
    status: 0,
    outcome: 'crashed',
    flags: FLAGS.estimated | (hold.stream ? FLAGS.stream : 0) | (hold.notBilled ? FLAGS.not_billed : 0),
    usage: NO_USAGE,
    costNanoUsd: hold.amount,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: Math.max(0, now - timeOfRequestId(hold.id)),
    firstByteMs: null,
  };
}
