import type { Clock } from '../../clock.ts';
import { type RequestId, timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { ChangeWatch } from '../database/change-watch.ts';
import type { Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import type { AskRows } from './asks.ts';
import type { Balances } from './balances.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Hold, Journal, OpenHold } from './journal.ts';
import { FLAGS, type RequestRecord } from './record.ts';
import { remainingIn, type Standing } from './standing.ts';

export type SettleResult =
  /** `remaining` is the room of the tightest budget; null if no budget was charged. */
  | { kind: 'settled'; remaining: NanoUsd | null }
  /** The request has no open hold. */
  | { kind: 'resolved_before' };

interface SettlementsOptions {
  db: Db;
  clock: Clock;
  balances: Balances;
  journal: Journal;
  /** Writes the record of a request that had a hold. */
  writeRecord: (record: RequestRecord) => void;
  asks: Pick<AskRows, 'closeAll'>;
}

/** Turns holds into spend. Each function runs within a batch. */
export function createSettlements(options: SettlementsOptions) {
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
    /** Closes the holds of a daemon that is gone, and ends its questions; returns how many holds. */
    closeHolds(slot: number, instanceId?: string): number {
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

/** A settlement that is not committed yet. */
export interface LateSettlement {
  /** The room that it leaves of the tightest budget; null without a budget. */
  remaining: NanoUsd | null;
  committed: Promise<SettleResult>;
}

interface LateSettlementsOptions {
  clock: Clock;
  balances: Pick<Balances, 'cachedStandings'>;
  journal: Pick<Journal, 'cached'>;
  watch: Pick<ChangeWatch, 'looksUnchanged'>;
  settle: (record: RequestRecord) => SettleResult;
}

/** Settlements that are committed after their answers have ended, and what they leave of the budgets. */
export function createLateSettlements(options: LateSettlementsOptions) {
  const { clock, balances, journal, watch } = options;
  /** By request id: what settlements that no batch has committed free in each of the balances that were held. */
  const pending = new Map<number, Hold>();
  /** Amounts that they free, by budget and by the start of its period. */
  const freed = new Map<number, Map<number, NanoUsd>>();
  let written: number[] = [];

  function addFreed({ charges, amount }: Hold): void {
    for (const [id, start] of charges) {
      const byStart = freed.get(id) ?? new Map<number, NanoUsd>();
      freed.set(id, byStart.set(start, (byStart.get(start) ?? 0) + amount));
    }
  }

  function drop(id: number): void {
    const released = pending.get(id);
    if (!released) return;
    pending.delete(id);
    if (pending.size === 0) freed.clear();
    else addFreed({ charges: released.charges, amount: -released.amount });
  }

  const freedIn = ({ budget }: Standing): NanoUsd => freed.get(budget.id)?.get(budget.currentStart) ?? 0;

  /** The room of the tightest budget once a record is settled; undefined if only the database can tell. */
  function roomAfter(record: RequestRecord): NanoUsd | null | undefined {
    const hold = journal.cached(record.id);
    if (!hold || !watch.looksUnchanged()) return undefined;
    if (hold.charges.length === 0) return null;
    const now = clock.now();
    const standings = balances.cachedStandings(record);
    if (!standings?.every(({ budget, resetsAt }) => budget.period !== 'rolling' && now < resetsAt))
      return undefined;
    // It is here if its transaction has failed.
    drop(record.id);
    const released = { charges: hold.charges, amount: hold.amount - record.costNanoUsd };
    pending.set(record.id, released);
    addFreed(released);
    if (standings.length === 0) return null;
    return remainingIn(standings.map((each) => ({ ...each, pending: each.pending - freedIn(each) })));
  }

  /** Settles a record within a batch. */
  function settle(record: RequestRecord): SettleResult {
    written.push(record.id);
    return options.settle(record);
  }

  return {
    /**
     * Submits a settlement for the next transaction. Undefined, and nothing is done, if only the database can tell what
     * it leaves: another process has written, a period ends, or a budget is a rolling one.
     */
    settleLate(record: RequestRecord, submitLate: GroupCommit['submitLate']): LateSettlement | undefined {
      const remaining = roomAfter(record);
      return remaining === undefined ? undefined : { remaining, committed: submitLate(() => settle(record)) };
    },
    settle,
    /** The batch has ended. */
    end(committed: boolean) {
      if (committed) for (const id of written) drop(id);
      written = [];
    },
  };
}

/** What the request's record has beside its hold. */
export type JobRecord = Pick<
  RequestRecord,
  'flags' | 'firstByteMs' | 'requestBytes' | 'timings' | 'upstreamRequestId' | 'detail' | 'origin'
>;

/** What a provider runs after the request that started it has ended, such as a film or a batch. */
export interface ProviderJob {
  requestId: RequestId;
  provider: string;
  /** The provider's id of it. */
  jobId: string;
  /** When it counts as done, at what is held. UTC milliseconds. */
  expiresAt: number;
  record: JobRecord;
}

/** A job that has not ended, and its hold. */
export interface RunningJob {
  requestId: RequestId;
  jobId: string;
  model: string;
  endpoint: string;
  held: NanoUsd;
  record: JobRecord;
}

/** How a job ended. `overdue`: nobody asked for its end in time. */
export interface JobEnd {
  how: 'completed' | 'failed' | 'cancelled' | 'expired' | 'overdue';
  /** Default: what is held for it, or nothing if it has failed. */
  costNanoUsd?: NanoUsd;
  usage?: TokenUsage;
  flags?: number;
}

interface JobsOptions {
  db: Db;
  names: Names;
  journal: Pick<Journal, 'openHold'>;
  settle: (record: RequestRecord) => SettleResult;
  /** The time of the running batch. */
  now: () => number;
}

interface JobRow {
  requestId: RequestId;
  jobId: string;
  record: string | null;
}

/**
 * Jobs whose requests hold their cost: no daemon's end closes such a hold, only the end of the job, which deletes the job in
 * the same transaction. Each function runs within a batch.
 */
export function createJobs({ db, names, journal, settle, now }: JobsOptions) {
  const insert = db.prepare<(string | number)[]>(`INSERT OR IGNORE INTO jobs
    (request_id, provider_id, job_id, created_at, expires_at, record) VALUES (?, ?, ?, ?, ?, ?)`);
  const SELECT = 'SELECT request_id AS requestId, job_id AS jobId, record FROM jobs WHERE';
  const select = db.prepare<[number, string], JobRow>(`${SELECT} provider_id = ? AND job_id = ?`);
  const selectResult = db.prepare<[number, string], JobRow>(`${SELECT} provider_id = ? AND result_id = ?`);
  const selectExpired = db.prepare<[number], JobRow>(
    `${SELECT} expires_at <= ? ORDER BY request_id LIMIT 100`,
  );
  const noteResult = db.prepare<[string, number, string]>(
    'UPDATE jobs SET result_id = ? WHERE provider_id = ? AND job_id = ?',
  );
  const remove = db.prepare<[number]>('DELETE FROM jobs WHERE request_id = ?');

  function end(row: JobRow, how: JobEnd): void {
    remove.run(row.requestId);
    const hold = journal.openHold(row.requestId);
    if (hold) settle(endedRecord(hold, row, how, now()));
  }

  function running(row: JobRow | undefined): RunningJob | undefined {
    const hold = row && journal.openHold(row.requestId);
    if (!hold) return undefined;
    const { model, endpoint, amount: held } = hold;
    return { requestId: row.requestId, jobId: row.jobId, model, endpoint, held, record: recordOf(row) };
  }

  return {
    /** Leaves the hold of a request to its job. False if it has none, or if that job has another one's. */
    begin({ requestId, provider, jobId, expiresAt, record }: ProviderJob): boolean {
      if (!journal.openHold(requestId)) return false;
      const row = [requestId, names.idOf(provider), jobId, Math.trunc(now()), Math.trunc(expiresAt)];
      return insert.run(...row, JSON.stringify(record)).changes > 0;
    },
    find: (provider: string, jobId: string) => running(select.get(names.idOf(provider), jobId)),
    /** The job whose results are in a file. */
    findByResult: (provider: string, fileId: string) =>
      running(selectResult.get(names.idOf(provider), fileId)),
    /** Notes which file has a job's results. */
    noteResult: (provider: string, jobId: string, fileId: string) =>
      void noteResult.run(fileId, names.idOf(provider), jobId),
    /** Books the end of a job. False if no such job runs: it has ended before. */
    end(provider: string, jobId: string, how: JobEnd): boolean {
      const row = select.get(names.idOf(provider), jobId);
      if (row) end(row, how);
      return row !== undefined;
    },
    /** Books jobs whose time is over. Returns how many. */
    expire(): number {
      const expired = selectExpired.all(Math.trunc(now()));
      for (const row of expired) end(row, { how: 'overdue' });
      return expired.length;
    },
  };
}

/** Jobs of earlier versions have none. */
const recordOf = ({ record }: JobRow): JobRecord =>
  record === null ? { flags: 0, firstByteMs: null } : JSON.parse(record);

function endedRecord({ amount, ...hold }: OpenHold, row: JobRow, end: JobEnd, now: number): RequestRecord {
  const { how, usage = NO_USAGE, costNanoUsd = how === 'failed' ? 0 : amount } = end;
  const record = recordOf(row);
  // Without a bound, the smallest amount is held.
  const unasked = amount > 1 ? FLAGS.estimated : FLAGS.unmetered;
  return {
    ...hold,
    ...record,
    status: 200,
    outcome: how === 'failed' ? 'upstream_failed' : 'ok',
    flags: record.flags | (end.flags ?? 0) | (how === 'overdue' ? unasked : 0),
    usage,
    costNanoUsd,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: Math.max(0, now - timeOfRequestId(hold.id)),
    upstreamMessageId: row.jobId,
    detail: { ...record.detail, job: how },
  };
}
