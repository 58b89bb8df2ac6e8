import type { Calendar } from '../../calendar.ts';
import type { Clock } from '../../clock.ts';
import { formatRequestId, type Random, systemRandom, timeOfRequestId } from '../../ids.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import { NO_USAGE } from '../../usage.ts';
import { createNames } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import { createBalances, type Standing } from './balances.ts';
import { createChangeWatch } from './change-watch.ts';
import { createEvents, type EmitEvent } from './events.ts';
import { createGroupCommit } from './group-commit.ts';
import { createHolds, type RequestHead } from './holds.ts';
import { FLAGS, type RequestRecord } from './record.ts';
import { createRecordWriter } from './requests.ts';
import { createRollups } from './rollups.ts';
import { budgetName } from './terms.ts';
import { createUsageSums } from './usage-sums.ts';

/** A request that asks for room in its project's budgets. */
export interface Admission extends RequestHead {
  /** Worst-case cost. */
  amount: NanoUsd;
  /** The least it could be run for: with its output cut to the minimum, if it may be cut. */
  least: NanoUsd;
  /** The worst case when its output is cut to what `room` affords; undefined if that is too little to be of use. */
  fitInto?: (room: NanoUsd) => NanoUsd | undefined;
  /** Nobody knows what it costs: `amount` is 0, and it may run only where there is no budget to hold. */
  unpriced?: boolean;
  /** Who waits behind whom: the project, or also the repository where that has budgets of its own. */
  queueKey?: number | string;
  /** False on a first look with a cheap bound: where that has no room the answer is `tight`, and nothing is decided. */
  isFinal: boolean;
  /** The record to write if it is blocked. */
  blockedRecord: () => RequestRecord;
}

export type AdmissionResult =
  /**
   * Reserved and durable: it may be sent. `remaining` is what the tightest budget has left; null without budgets.
   * `spentOfCap` is the part of its cap that the one which is used up most has spent; 0 without budgets.
   */
  | { kind: 'held'; amount: NanoUsd; remaining: NanoUsd | null; spentOfCap: number }
  | { kind: 'needs_exact_count' }
  /** Its price is unknown and the project has a budget. Nothing is written. */
  | { kind: 'unpriced'; standing: Standing }
  /** There is room once running requests settle. */
  | { kind: 'wait'; standing: Standing }
  /** There is none in this period. The record and the events are written. */
  | { kind: 'blocked'; standing: Standing };

/** A running request that goes on at another target. */
export interface Readmission extends Omit<Admission, 'least' | 'isFinal' | 'blockedRecord'> {
  /** What its attempts so far have cost, or may have. */
  spent: NanoUsd;
  /** As of an admission, where there is no other way to go on: with no room in this period it is blocked. */
  least?: NanoUsd;
}

export type ReadmissionResult =
  /** The hold is now for what was spent and the next attempt's worst case, `amount` in all. */
  | { kind: 'held'; amount: NanoUsd; remaining: NanoUsd | null }
  /** The next attempt has no room, or no price: the hold is now for what was spent. */
  | { kind: 'refused'; standing: Standing }
  /** It has no hold any more. */
  | { kind: 'resolved_before' };

export type SettleResult = { kind: 'settled'; remaining: NanoUsd | null } | { kind: 'resolved_before' };

/** The authority on money: every method is durable when its promise resolves, and all of a turn share a transaction. */
export interface Ledger {
  admit(admission: Admission): Promise<AdmissionResult>;
  /**
   * Exchanges a request's hold for that of its next attempt. What was spent stays held until the request is settled,
   * so that one settlement books all attempts, and a crash in between loses none. It never waits.
   */
  readmit(readmission: Readmission): Promise<ReadmissionResult>;
  /** Turns the hold of `record.id` into what it cost (0 releases it) and writes the record; the first settle wins. */
  settle(record: RequestRecord): Promise<SettleResult>;
  /** Writes the record of a request that never held anything. */
  record(record: RequestRecord): Promise<void>;
  /** Rolls budgets into the period that is running, with their events. */
  roll(): Promise<void>;
  /**
   * Closes the holds of a daemon that is gone: each is posted at the held amount and flagged. Returns how many.
   * With `instanceId`, only if no other daemon has the slot by now: two that sweep may both have found it dead.
   */
  closeHolds(slot: number, instanceId?: string): Promise<number>;
  /** Adds the first hour that ended by `before` to what long reports read; false if there is none left. */
  sumNextHour(before: number): Promise<boolean>;
  /** Runs other writes of the store in the same kind of transaction. */
  write<T>(command: () => T): Promise<T>;
  /** The budgets of a project as they stand. */
  standings(projectId: number): Promise<Standing[]>;
  /** Calls the listener after each transaction that wrote events. */
  onEvents(listener: () => void): void;
  /** Calls the listener after each transaction. */
  onCommit(listener: () => void): void;
  flush(): void;
  /** Lets every write wait, until the function is called that it returns. */
  pause(): () => void;
}

export interface LedgerOptions {
  db: Db;
  clock: Clock;
  calendar: () => Calendar;
  /** This daemon's slot; its holds carry it. */
  slot: number;
  random?: Random;
}

export function createLedger(options: LedgerOptions): Ledger {
  const { db, clock, calendar, slot, random = systemRandom } = options;
  const names = createNames(db);
  const insertEvent = createEvents(db, () => clock.now(), random);
  const eventListeners: (() => void)[] = [];
  const commitListeners: (() => void)[] = [];
  let emitted = false;
  let foreign = false;
  const emit: EmitEvent = (...event) => {
    emitted = true;
    insertEvent(...event);
  };
  const balances = createBalances({ db, calendar, emit });
  const sums = createUsageSums(db);
  const rollups = createRollups(db, sums);
  const holds = createHolds(db, names);
  const records = createRecordWriter(db, names, rollups);
  const selectOwner = db.prepare<[number], string>('SELECT instance_id FROM daemons WHERE slot = ?').pluck();
  /** Lines of which a request of this batch has to wait: later ones wait behind it. */
  const waiting = new Set<number | string>();
  const watch = createChangeWatch(db);

  /** What was read is read anew only where it may be out of date. */
  function forget(): void {
    balances.forget();
    holds.forget();
    sums.forget();
  }

  const { submit, flush, pause } = createGroupCommit(
    db,
    {
      begin(now) {
        if (!watch.isUnchanged()) forget();
        balances.begin(now);
      },
      write() {
        balances.write();
        rollups.write();
        watch.note();
      },
      end(committed) {
        names.settle(committed);
        if (!committed || foreign) forget();
        foreign = false;
        rollups.clear();
        waiting.clear();
        if (emitted && committed) for (const listener of eventListeners) listener();
        emitted = false;
        if (committed) for (const listener of commitListeners) listener();
      },
    },
    clock,
  );

  /** What others write within a batch is not known here. */
  function write<T>(command: () => T): Promise<T> {
    return submit(() => {
      foreign = true;
      const result = command();
      holds.forget();
      return result;
    });
  }

  function hold(admission: Admission, amount: NanoUsd, standings: Standing[]): AdmissionResult {
    const charges = balances.reserve(admission.projectId, repoOf(admission), amount);
    holds.insert(slot, admission, amount, charges);
    const remaining = standings.length > 0 ? roomIn(standings) - amount : null;
    return { kind: 'held', amount, remaining, spentOfCap: spentOfCap(standings) };
  }

  function admit(admission: Admission): AdmissionResult {
    const standings = balances.standingsFor(admission.projectId, repoOf(admission));
    const [first] = standings;
    if (admission.unpriced && first) return { kind: 'unpriced', standing: first };
    if (standings.length === 0 || admission.amount === 0) return hold(admission, admission.amount, standings);
    const line = admission.queueKey ?? admission.projectId;
    const mustQueue = waiting.has(line);
    const room = roomIn(standings);
    if (!mustQueue && admission.amount <= room) return hold(admission, admission.amount, standings);
    if (!admission.isFinal) return { kind: 'needs_exact_count' };
    const fitted = mustQueue ? undefined : admission.fitInto?.(room);
    if (fitted !== undefined && fitted <= room) return hold(admission, fitted, standings);
    const full = fullFor(admission.least, standings);
    if (full) return block(admission, full);
    waiting.add(line);
    return { kind: 'wait', standing: leastBy(standings, roomOf) };
  }

  function readmit(next: Readmission): ReadmissionResult {
    const held = holds.take(next.id);
    if (!held) return { kind: 'resolved_before' };
    if (held.charges.length > 0) balances.post(next.projectId, held.charges, held.amount, 0);
    const standings = balances.standingsFor(next.projectId, repoOf(next));
    const amount = affordable(next, standings);
    const total = next.spent + (amount ?? 0);
    const charges = balances.reserve(next.projectId, repoOf(next), total);
    holds.insert(slot, next, total, charges);
    if (amount === undefined) return refuse(next, standings);
    return {
      kind: 'held',
      amount: total,
      remaining: standings.length > 0 ? roomIn(standings) - total : null,
    };
  }

  function refuse(next: Readmission, standings: Standing[]): ReadmissionResult {
    const full = next.unpriced ? undefined : fullFor(next.spent + (next.least ?? 0), standings);
    if (!full || next.least === undefined) return { kind: 'refused', standing: leastBy(standings, roomOf) };
    tellBlocked(next, next.spent + next.least, full);
    return { kind: 'refused', standing: full };
  }

  /** What the next attempt is held at; undefined where a budget has no room for it. */
  function affordable(next: Readmission, standings: Standing[]): NanoUsd | undefined {
    if (standings.length === 0) return next.amount;
    if (next.unpriced) return undefined;
    const room = roomIn(standings) - next.spent;
    if (next.amount === 0 || next.amount <= room) return next.amount;
    const fitted = next.fitInto?.(room);
    return fitted !== undefined && fitted <= room ? fitted : undefined;
  }

  function block(admission: Admission, standing: Standing): AdmissionResult {
    const record = admission.blockedRecord();
    record.detail = { ...record.detail, budget: budgetName(standing.budget) };
    tellBlocked(admission, admission.least, standing);
    writeRecord(record);
    return { kind: 'blocked', standing };
  }

  function tellBlocked(head: RequestHead, needed: NanoUsd, { budget, posted }: Standing): void {
    balances.refuse(head.projectId, budget.id);
    emit('request.blocked', head.projectId, {
      budget_id: budgetName(budget),
      ...(budget.repo === '' ? {} : { repo: budget.repo }),
      request_id: formatRequestId(head.id),
      model: head.askedModel,
      estimated_cost_usd: usdNumber(needed),
      remaining_usd: usdNumber(Math.max(0, budget.capNanoUsd - posted)),
      cap_usd: usdNumber(budget.capNanoUsd),
      spent_usd: usdNumber(posted),
    });
  }

  function settle(record: RequestRecord): SettleResult {
    const held = holds.take(record.id);
    if (!held) return { kind: 'resolved_before' };
    if (held.charges.length > 0)
      balances.post(record.projectId, held.charges, held.amount, record.costNanoUsd);
    const overrun = held.charges.length > 0 && record.costNanoUsd > held.amount;
    writeRecord(overrun ? { ...record, flags: record.flags | FLAGS.overrun } : record, held.amount);
    const standings = held.charges.length > 0 ? balances.standingsFor(record.projectId, repoOf(record)) : [];
    return { kind: 'settled', remaining: standings.length > 0 ? roomIn(standings) : null };
  }

  function closeHolds(deadSlot: number, instanceId?: string): number {
    const owner = instanceId === undefined ? undefined : selectOwner.get(deadSlot);
    if (owner !== undefined && owner !== instanceId) return 0;
    const open = holds.ofSlot(deadSlot);
    for (const hold of open) {
      settle({
        ...hold,
        status: 0,
        outcome: 'crashed',
        flags: FLAGS.estimated | (hold.stream ? FLAGS.stream : 0),
        usage: NO_USAGE,
        costNanoUsd: hold.amount,
        savedTokens: 0,
        savedNanoUsd: 0,
        durationMs: Math.max(0, clock.now() - timeOfRequestId(hold.id)),
        firstByteMs: null,
      });
    }
    return open.length;
  }

  /** Writes a record. While the search for the caller is running, a later batch adds what it finds. */
  function writeRecord(record: RequestRecord, held = 0): void {
    records.write(record, held);
    const { origin } = record;
    void origin?.search
      ?.then(() => (origin.process ? submit(() => records.writeOrigin(record, origin)) : undefined))
      // The record stays without its caller.
      .catch(() => {});
  }

  return {
    admit: (admission) => submit(() => admit(admission)),
    readmit: (readmission) => submit(() => readmit(readmission)),
    settle: (record) => submit(() => settle(record)),
    record: (record) => submit(() => writeRecord(record)),
    roll: () => submit(() => balances.rollAll()),
    closeHolds: (deadSlot, instanceId) => submit(() => closeHolds(deadSlot, instanceId)),
    sumNextHour: (before) => submit(() => sums.sumNextHour(before)),
    write,
    onEvents: (listener) => void eventListeners.push(listener),
    onCommit: (listener) => void commitListeners.push(listener),
    standings: (projectId) => submit(() => balances.standings(projectId)),
    flush,
    pause,
  };
}

const repoOf = ({ origin }: Pick<RequestHead, 'origin'>): string => origin?.repo ?? '';
const roomOf = ({ budget, posted, pending }: Standing): NanoUsd => budget.capNanoUsd - posted - pending;
/** The part of its cap that the budget which is used up most has spent. */
const spentOfCap = (standings: Standing[]): number =>
  standings.reduce((most, { budget, posted }) => Math.max(most, posted / Math.max(1, budget.capNanoUsd)), 0);

const roomIn = (standings: Standing[]): NanoUsd => Math.min(...standings.map(roomOf));

/** A budget that has less left in this period than is needed, whatever running requests will give back. */
function fullFor(needed: NanoUsd, standings: Standing[]): Standing | undefined {
  const leftOf = ({ budget, posted }: Standing) => budget.capNanoUsd - posted;
  const tightest = leastBy(standings, leftOf);
  return needed > leftOf(tightest) ? tightest : undefined;
}

function leastBy(standings: Standing[], value: (standing: Standing) => number): Standing {
  return standings.reduce((least, standing) => (value(standing) < value(least) ? standing : least));
}
