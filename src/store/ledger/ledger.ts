import type { Calendar } from '../../calendar.ts';
import type { Clock } from '../../clock.ts';
import type { GwError } from '../../errors.ts';
import { type Random, type RequestId, systemRandom } from '../../ids.ts';
import { createChangeWatch } from '../database/change-watch.ts';
import { createNames } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import {
  type Admission,
  type AdmissionResult,
  createAdmissions,
  type Readmission,
  type ReadmissionResult,
} from './admission.ts';
import { createAskRows } from './asks.ts';
import { createBalances } from './balances.ts';
import { createTimeline } from './clock.ts';
import { createEvents, type EmitEvent, type InsertEvent } from './events.ts';
import { createGroupCommit } from './group-commit.ts';
import { createJournal, createSessions } from './journal.ts';
import { createLabelSets } from './label-sets.ts';
import type { RequestRecord } from './record.ts';
import { createBlockedEvents, createRefusalFolds, type RefusalFold } from './refusals.ts';
import {
  createJobs,
  createLateSettlements,
  createSettlements,
  type JobEnd,
  type LateSettlement,
  type ProviderJob,
  type RunningJob,
  type SettleResult,
} from './settlement.ts';
import type { Standing } from './standing.ts';
import type { TeamHooks } from './team-terms.ts';

/**
 * The authority on money. A method's promise resolves once its writes are durable; all calls of an event-loop turn
 * share a transaction. Promises reject with GwError `storage_unavailable` when the database can't be written.
 *
 * A request is counted by the budgets that count its project and, if its repository is known at that time, its
 * repository. A repository that becomes known later is added to the record alone.
 */
export interface Ledger {
  /** Holds a request's worst-case cost in each budget that counts it, or says why not. */
  admit(admission: Admission): Promise<AdmissionResult>;
  /** State of a request that is waiting for approval. `wait`: it is to be admitted in its turn. */
  look(admission: Admission): Promise<AdmissionResult>;
  /** Ends the question about a request that waits for no answer any more. */
  endAsk(id: RequestId): Promise<void>;
  /**
   * Replaces a request's hold by that of its next attempt. What was spent stays held until the request is settled: one
   * settlement books all attempts, and a crash in between loses none. Never waits for room.
   */
  readmit(readmission: Readmission): Promise<ReadmissionResult>;
  /** Turns the hold of `record.id` into its cost (0 releases it) and writes the record. The first settlement wins. */
  settle(record: RequestRecord): Promise<SettleResult>;
  /**
   * As `settle`, for a client that needn't wait: the settlement rides on the next transaction, LATE_MS later at most.
   * Until then, the hold stands for it: a crash in between books it in full. Undefined, and nothing is done, where
   * what remains of the budgets is not known without the database.
   */
  settleLate(record: RequestRecord): LateSettlement | undefined;
  /** Writes the record of a request that never held anything. Many refusals of a key in a minute share a row. */
  record(record: RequestRecord): Promise<void>;
  /** Rolls budgets into the running period and emits their events. */
  roll(): Promise<void>;
  /**
   * Closes the holds of a daemon that is gone: each is posted at the held amount and flagged. Returns how many.
   * With `instanceId`, nothing is closed once another daemon has the slot: two sweepers may both have found it dead.
   */
  closeHolds(slot: number, instanceId?: string): Promise<number>;
  /**
   * Leaves the hold of a request to the job that its answer has started. False if the request has none, or if that job has
   * one already: then it is to be settled.
   */
  beginJob(job: ProviderJob): Promise<boolean>;
  /** Turns the hold of a job into its cost. False if there is no such job, or it has ended before. */
  endJob(provider: string, jobId: string, how: JobEnd): Promise<boolean>;
  /** A running job by its own id, or by that of the file of its results. */
  findJob(provider: string, id: string, by: 'job' | 'result'): Promise<RunningJob | undefined>;
  /** Notes which file has the results of a job. */
  noteResult(provider: string, jobId: string, fileId: string): Promise<void>;
  /** Books jobs that nobody asked about in time, at what is held. Returns how many. */
  expireJobs(): Promise<number>;
  /** Runs another write of the store in a batch. */
  write<T>(command: () => T): Promise<T>;
  /** As `write`, for rows of budgets: the command sees what the batch has changed, and the rest of the batch what it did. */
  writeBudgets<T>(command: () => T): Promise<T>;
  /** As `write`, for rows that neither budgets nor holds are in. */
  writeApart<T>(command: () => T): Promise<T>;
  /** Writes an event, within a command of `write`. */
  emit: EmitEvent;
  /** The budgets of a project as they stand. */
  standings(projectId: number): Promise<Standing[]>;
  /** Calls the listener after each transaction that wrote events. */
  onEvents(listener: () => void): void;
  /** Calls the listener in a transaction that finds rows of another writer, or the clock set back. */
  onOthersWrote(listener: () => void): void;
  /** Calls the listener after each transaction. */
  onCommit(listener: () => void): void;
  /** Calls the listener after each transaction with the records that it wrote. */
  onRecords(listener: (records: readonly RequestRecord[]) => void): void;
  /** Resolves when everything submitted so far has been committed, or has failed. */
  settled(): Promise<void>;
  /** Commits what is waiting, now. */
  flush(): void;
  /** Holds back all writes until the returned function is called. */
  pause(): () => void;
}

export interface LedgerOptions {
  db: Db;
  clock: Clock;
  calendar: () => Calendar;
  /** This daemon's slot; its holds carry it. */
  slot: number;
  random?: Random;
  /** Why no request may be admitted any more; undefined as long as the database is in its place. */
  fault?: () => GwError | undefined;
  /** Called about requests in team budgets; undefined without a team. */
  team?: TeamHooks | undefined;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over the parts of one transaction
export function createLedger(options: LedgerOptions): Ledger {
  const { db, clock, calendar, slot, random = systemRandom, fault = () => undefined, team } = options;
  const names = createNames(db);
  const insertEvent = createEvents(db, () => clock.now(), random);
  const listeners = createListeners();
  /** Whether the batch wrote rows that the caches don't know of. */
  let hasOtherWrites = false;
  const emit: InsertEvent = (...event) => {
    listeners.noteEvent();
    return insertEvent(...event);
  };
  const emitBlocked = createBlockedEvents(db, () => clock.now(), emit);
  const labelSets = createLabelSets(db);
  const balances = createBalances({ db, calendar, emit, labelSets, ...balancesHooks(team) });
  const sessions = createSessions(db);
  let batchAt = 0;
  const journal = createJournal({ db, names, sessions, labelSets, now: () => batchAt });
  const folds = createRefusalFolds(journal, () => batchAt);
  const askRows = createAskRows(db, slot);
  const admissions = createAdmissions({
    ...{ slot, balances, journal, writeRecord: add, emitBlocked, team },
    asks: { rows: askRows, emit },
    now: () => batchAt,
  });
  const settlements = createSettlements({ db, clock, balances, journal, writeRecord: settle, asks: askRows });
  const jobs = createJobs({ db, names, journal, settle: settlements.settle, now: () => batchAt });
  const watch = createChangeWatch(db, clock);
  const timeline = createTimeline(db, calendar);
  const late = createLateSettlements({ clock, balances, journal, watch, settle: settlements.settle });

  function forget(): void {
    for (const cache of [balances, journal]) cache.forget();
  }

  /** Runs a command on rows of budgets, which the batch before and after it sees. */
  function apart<T>(command: () => T): T {
    balances.write();
    try {
      return command();
    } finally {
      forget();
    }
  }

  const { submit, submitLate, settled, flush, pause } = createGroupCommit(db, clock, {
    begin(now) {
      const othersWrote = !watch.isUnchanged();
      if (timeline.enter(now, othersWrote) || othersWrote) {
        forget();
        listeners.noteOthers();
      }
      batchAt = now;
      balances.begin(now);
    },
    write() {
      balances.write();
      watch.note();
    },
    end(committed) {
      if (!committed) timeline.forget();
      if (!committed) folds.forget();
      names.settle(committed);
      sessions.settle(committed);
      labelSets.settle(committed);
      if (!committed || hasOtherWrites) forget();
      admissions.endBatch();
      late.end(committed);
      listeners.end(committed);
      hasOtherWrites = false;
    },
  });

  function settle(record: RequestRecord): void {
    journal.settle(record);
    listeners.noteRecord(record);
    addOrigin(record);
  }

  /** Returns the row that stands for this refusal and others, if it has none of its own. */
  function add(record: RequestRecord): RefusalFold | undefined {
    listeners.noteRecord(record);
    const fold = folds.add(slot, record);
    if (!fold || fold.id === record.id) addOrigin(record);
    return fold;
  }

  /** While the search for the caller is running, a later batch adds what it finds. */
  function addOrigin({ id, origin }: RequestRecord): void {
    void origin?.search
      ?.then(() => submit(() => journal.endSearch(id, origin)))
      // The record stays without its caller.
      .catch(() => {});
  }

  return {
    admit: (admission) => refused(fault()) ?? submit(() => admissions.admit(admission)),
    look: (admission) => refused(fault()) ?? submit(() => admissions.look(admission)),
    endAsk: (id) => submit(() => askRows.close(id, 'ended')),
    readmit: (readmission) => refused(fault()) ?? submit(() => admissions.readmit(readmission)),
    settle: (record) => submit(() => late.settle(record)),
    settleLate: (record) => late.settleLate(record, submitLate),
    record: (record) => submit(() => void add(record)),
    roll: () => submit(() => balances.rollAll()),
    beginJob: (job) => submit(() => jobs.begin(job)),
    endJob: (provider, jobId, how) => submit(() => jobs.end(provider, jobId, how)),
    findJob: (provider, id, by) =>
      submit(() => (by === 'job' ? jobs.find(provider, id) : jobs.findByResult(provider, id))),
    noteResult: (provider, jobId, fileId) => submit(() => jobs.noteResult(provider, jobId, fileId)),
    expireJobs: () => submit(() => jobs.expire()),
    closeHolds: (deadSlot, instanceId) => submit(() => settlements.closeHolds(deadSlot, instanceId)),
    write: (command) =>
      submit(() => {
        hasOtherWrites = true;
        const result = command();
        journal.forget();
        return result;
      }),
    writeBudgets: (command) => submit(() => apart(command)),
    writeApart: submit,
    emit,
    standings: (projectId) => submit(() => balances.standings(projectId)),
    ...listeners.on,
    settled,
    flush,
    pause,
  };
}

/** Hooks that report spend to the team's side. */
function balancesHooks(team: TeamHooks | undefined) {
  return { teamNow: team && (() => team.now()), onTeamSpend: team?.spent };
}

/** Listeners that are called once a batch is committed. */
function createListeners() {
  const ofEvents: (() => void)[] = [];
  const ofOthers: (() => void)[] = [];
  const ofCommits: (() => void)[] = [];
  const ofRecords: ((records: readonly RequestRecord[]) => void)[] = [];
  let hasEvents = false;
  let records: RequestRecord[] = [];
  return {
    on: {
      onEvents: (listener: () => void) => void ofEvents.push(listener),
      onOthersWrote: (listener: () => void) => void ofOthers.push(listener),
      onCommit: (listener: () => void) => void ofCommits.push(listener),
      onRecords: (listener: (records: readonly RequestRecord[]) => void) => void ofRecords.push(listener),
    },
    noteOthers() {
      for (const listener of ofOthers) listener();
    },
    noteEvent() {
      hasEvents = true;
    },
    noteRecord(record: RequestRecord) {
      if (ofRecords.length > 0) records.push(record);
    },
    end(committed: boolean) {
      if (committed && hasEvents) for (const listener of ofEvents) listener();
      if (committed) for (const listener of ofCommits) listener();
      if (committed && records.length > 0) for (const listener of ofRecords) listener(records);
      hasEvents = false;
      if (records.length > 0) records = [];
    },
  };
}

function refused(fault: GwError | undefined): Promise<never> | undefined {
  return fault && Promise.reject(fault);
}
