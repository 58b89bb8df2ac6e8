import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { type Calendar, createCalendar } from '../../src/calendar.ts';
import type { Clock } from '../../src/clock.ts';
import type { Random, RequestId } from '../../src/ids.ts';
import { createArchive } from '../../src/store/archive/archive.ts';
import { createStoredIds } from '../../src/store/database/daemons.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import type { Admission, Readmission } from '../../src/store/ledger/admission.ts';
import { createLedger, type Ledger } from '../../src/store/ledger/ledger.ts';
import type { Offer } from '../../src/store/ledger/offer.ts';
import type { RequestRecord } from '../../src/store/ledger/record.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { migrated } from './migrated.ts';

/** A clock that a test sets, forward or back. */
export interface SetClock extends Clock {
  set(timeMs: number): void;
}

export const NOON = Date.UTC(2026, 4, 12, 12);

export function createSetClock(startMs = NOON): SetClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    monotonic: () => performance.now(),
    after: () => () => undefined,
    set(timeMs) {
      nowMs = timeMs;
    },
  };
}

/** Bytes that are the same in every run: event ids do not change with the run. */
export function countedRandom(seed: string): Random {
  let count = 0;
  return (bytes) => createHash('sha512').update(`${seed}/${count++}`).digest().subarray(0, bytes);
}

/** A new directory that goes when the test ends; tests that need thousands make and remove their own. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gw-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A migrated database in memory, for one process. */
export async function memoryDatabase(): Promise<Db> {
  const db = new Database(await migrated());
  db.pragma('foreign_keys = ON');
  return db;
}

/** Writes a migrated database to a file and returns its path. */
export async function fileDatabase(directory = temporaryDirectory(), name = 'gw.db'): Promise<string> {
  const path = join(directory, name);
  writeFileSync(path, await migrated());
  return path;
}

/** A connection that leaves syncing to the system: no test cuts the power. */
export async function openFast(path: string): Promise<Db> {
  const db = await openDatabase(path);
  db.pragma('synchronous = OFF');
  return db;
}

/** Adds projects 1 to `count`, named p1, p2, ... */
export function addProjects(db: Db, count: number): void {
  const insert = db.prepare("INSERT INTO projects (name, plan, created_at) VALUES (?, 'pro', 0)");
  for (let i = 1; i <= count; i++) insert.run(`p${i}`);
}

/** A daemon as the ledger knows it: a slot, ids, and a ledger on its own connection or a shared one. */
export interface SimulatedDaemon {
  slot: number;
  ledger: Ledger;
  nextId(): RequestId;
  /** Archives all requests that have ended. */
  takeOver(): Promise<void>;
  sumNextHour(before: number): Promise<boolean>;
}

export interface World {
  clock: SetClock;
  calendar: Calendar;
  /** How many daemons were started in it: keeps their event ids apart. */
  started: number;
}

export function createWorld(options: { startMs?: number; timezone?: string } = {}): World {
  return {
    clock: createSetClock(options.startMs),
    calendar: createCalendar(options.timezone ?? 'UTC'),
    started: 0,
  };
}

export function startDaemon(db: Db, world: World, slot: number): SimulatedDaemon {
  world.started++;
  const ledger = createLedger({
    db,
    clock: world.clock,
    calendar: () => world.calendar,
    slot,
    random: countedRandom(`daemon ${world.started}`),
  });
  const archive = createArchive(db);
  const { onOthersWrote } = ledger;
  const nextId = createStoredIds(db, { slot, now: () => world.clock.now(), onOthersWrote });
  return {
    slot,
    ledger,
    nextId,
    async takeOver() {
      for (let isMore = true; isMore; ) {
        const batch = ledger.writeApart(() => archive.takeOver(world.clock.now()));
        ledger.flush();
        isMore = await batch;
      }
    },
    sumNextHour: (before) => ledger.writeApart(() => archive.sumNextHour(before)),
  };
}

/** The record of a request that went well; a test says what differs. */
export function recordOf(id: RequestId, fields: Partial<RequestRecord> = {}): RequestRecord {
  return {
    id,
    projectId: 1,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-5-mini',
    askedModel: 'gpt-5-mini',
    status: 200,
    outcome: 'ok',
    flags: 0,
    usage: NO_USAGE,
    costNanoUsd: 0,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: 1,
    firstByteMs: null,
    ...fields,
  };
}

/** A final request for `amount` that cannot be cut; a test says what differs. */
/** Fields of an admission and of its offer. */
export type AdmissionFields = Partial<Omit<Admission, 'offer'> & Offer>;

const OF_OFFER: ReadonlySet<string> = new Set<keyof Offer>([
  ...([
    'amount',
    'outputTokens',
    'calls',
    'least',
    'small',
    'whole',
    'unpriced',
    'fitInto',
    'needOf',
  ] as const),
  ...(['isWorthCounting', 'leastIfCounted', 'blockedRecord', 'asking', 'shorter'] as const),
]);

export function admissionOf(id: RequestId, amount: number, fields: AdmissionFields = {}): Admission {
  const { projectId = 1 } = fields;
  const pick = (isOfOffer: boolean) =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => OF_OFFER.has(name) === isOfOffer));
  const blockedRecord = () => recordOf(id, { projectId, status: 402, outcome: 'blocked' });
  return {
    id,
    projectId,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-5-mini',
    askedModel: 'gpt-5-mini',
    stream: false,
    offer: { amount, least: amount, blockedRecord, ...pick(true) },
    isFinal: true,
    ...pick(false),
  };
}

/** The next attempt of a request. */
export function readmissionOf(id: RequestId, amount: number, fields: Partial<Readmission> = {}): Readmission {
  const { isFinal: _isFinal, offer: _offer, ...head } = admissionOf(id, amount);
  return { ...head, amount, spent: 0, ...fields };
}

export interface StoredEvent {
  type: string;
  projectId: number;
  data: Record<string, unknown>;
}

export function eventsOf(db: Db, type?: string): StoredEvent[] {
  return db
    .prepare<[], { type: string; projectId: number; data: string }>(
      'SELECT type, project_id AS projectId, data FROM events ORDER BY sequence',
    )
    .all()
    .filter((event) => type === undefined || event.type === type)
    .map((event) => ({ ...event, data: JSON.parse(event.data) as Record<string, unknown> }));
}

/** fast-check's settings: a share of 500 runs (100,000 with GW_LONG=1); GW_SEED (and GW_PATH) repeat a failure. */
export function runs(share: number): { numRuns: number; seed?: number; path?: string } {
  const { GW_LONG, GW_SEED, GW_PATH } = process.env;
  return {
    numRuns: Math.ceil((GW_LONG ? 100_000 : 500) * share),
    ...(GW_SEED ? { seed: Number(GW_SEED) } : {}),
    ...(GW_PATH ? { path: GW_PATH } : {}),
  };
}

/** How long a property may take. */
export const PROPERTY_TIMEOUT_MS = process.env.GW_LONG ? 3 * 3_600_000 : 120_000;
