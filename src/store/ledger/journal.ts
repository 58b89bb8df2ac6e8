import type { RequestId } from '../../ids.ts';
import type { Origin } from '../../origin.ts';
import { createIdCache, type Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import type { LabelSets } from './label-sets.ts';
import { FLAGS, type RecordedNeed, type RequestRecord, type Trial } from './record.ts';
import {
  arrivalOf,
  ENDED,
  type Ending,
  HELD,
  type Hold,
  OPEN,
  OPENED,
  type Opening,
  REOPENED,
  REOPENED_NEED,
  type RequestHead,
  SETTLED,
  type WrittenColumns,
  writer,
} from './request-columns.ts';

export type { Hold, RequestHead } from './request-columns.ts';

/** The repository of a request; '' if unknown. */
export const repoOf = ({ origin }: Pick<RequestHead, 'origin'>): string => origin?.repo ?? '';

/** An open hold with the request that it is for. */
export interface OpenHold extends RequestHead, Hold {}

/**
 * The rows of requests that run or have just ended. A row is added with the hold, before anything is sent, and becomes
 * the record when the request ends: so both are on one page, the table's last. The archive takes ended rows over.
 */
export type Journal = ReturnType<typeof createJournal>;

interface JournalOptions {
  db: Db;
  names: Names;
  sessions: Sessions;
  labelSets: Pick<LabelSets, 'idOf'>;
  /** The time of the running batch. */
  now: () => number;
}

interface Row extends Omit<OpenHold, 'stream' | 'notBilled' | 'charges' | 'origin'> {
  flags: number;
  charges: string;
  process: string;
  repo: string;
}

export function createJournal(options: JournalOptions) {
  const { db, names } = options;
  const { insert, reopen, reopenNeed, update, openFold, fold, updateOrigin, select, selectSlot, selectOpen } =
    prepare(db);
  const { openingOf, endingOf } = createInputs(options);
  const writeTrial = createTrialWriter(db, options.now);
  /** The rows that this process has added. */
  const cache = new Map<RequestId, Hold>();

  /** Turns the row of a running request into its record. */
  function settle(record: RequestRecord): void {
    update(endingOf(record));
    cache.delete(record.id);
    if (record.trial) writeTrial(record, record.trial, names.idOf(record.provider), names.idOf(record.model));
  }

  /** Adds the record of a request that never held anything. */
  function add(slot: number, record: RequestRecord): void {
    insert(openingOf(slot, { ...record, stream: false }, undefined, record.need));
    settle(record);
  }

  return {
    /** Adds the row of a request that is about to be sent. `need`: its worst case in parts, if its price is known. */
    open(slot: number, head: RequestHead, hold: Hold, need: RecordedNeed | undefined) {
      insert(openingOf(slot, head, hold, need));
      cache.set(head.id, hold);
    },
    /** Replaces the hold of a running request by that of its next attempt; without `need`, that one was refused. */
    reopen(slot: number, head: RequestHead, hold: Hold, need: RecordedNeed | undefined) {
      const opening = openingOf(slot, head, hold, need);
      reopen(opening);
      if (need) reopenNeed(opening);
      cache.set(head.id, hold);
    },
    /** The hold of a running request; undefined if it has none or has ended. */
    holdOf(id: RequestId): Hold | undefined {
      const hold = cache.get(id);
      if (hold) return hold;
      const row = select.get(id);
      return row && { amount: row.amount, charges: JSON.parse(row.charges) };
    },
    /** A hold that this process has added since anything else was written; undefined says nothing. */
    cached: (id: RequestId): Hold | undefined => cache.get(id),
    /** The open holds of a daemon, but for those of jobs, which outlive it. */
    ofSlot: (slot: number): OpenHold[] => selectSlot.all(slot).map(openHoldOf),
    /** A running request with its hold. */
    openHold(id: RequestId): OpenHold | undefined {
      const row = selectOpen.get(id);
      return row && openHoldOf(row);
    },
    settle,
    add,
    /** As `add`, of a row that more refusals are counted in. */
    addFold(slot: number, record: RequestRecord) {
      add(slot, record);
      openFold.run(record.id);
    },
    /** Counts a refusal in such a row. Returns false if it is archived. */
    fold: (id: RequestId): boolean => fold.run(Math.trunc(options.now()), id).changes > 0,
    /** Adds the caller to a record that was written while it was searched for. Does nothing to any other record. */
    endSearch: (id: RequestId, { process, repo }: Origin) =>
      updateOrigin.run(names.idOf(process), names.idOf(repo), id),
    /** Drops what is cached: another writer has committed, or the batch has failed. */
    forget: () => cache.clear(),
  };
}

function openHoldOf({ process, repo, flags, ...row }: Row): OpenHold {
  return {
    ...row,
    stream: (flags & FLAGS.stream) !== 0,
    notBilled: (flags & FLAGS.not_billed) !== 0,
    charges: JSON.parse(row.charges),
    origin: { process, repo },
  };
}

/** The inputs of the columns of a row: those that are known with the hold, and those of the end. */
function createInputs({ names, sessions, labelSets, now }: JournalOptions) {
  const order = createOrder(now);
  const idOf = (name: string | undefined) => (name === undefined ? 0 : names.idOf(name));

  function openingOf(
    slot: number,
    head: RequestHead,
    hold: Hold | undefined,
    need: RecordedNeed | undefined,
  ): Opening {
    const arrivedAt = arrivalOf(head.id, now());
    const agentId = idOf(head.agent);
    const agentVersionId = idOf(head.agentVersion);
    const repoId = idOf(head.origin?.repo);
    const sessionId =
      head.session === undefined
        ? 0
        : sessions.idOf(
            head.session,
            { at: arrivedAt, projectId: head.projectId },
            { agentId, agentVersionId, repoId },
          );
    return {
      slot,
      head,
      hold,
      need,
      names,
      agentId,
      agentVersionId,
      repoId,
      sessionId,
      labelsId: labelSets.idOf(head.projectId, head.labels),
      now: now(),
      arrivedAt,
      order,
    };
  }

  const endingOf = (record: RequestRecord): Ending => ({ record, names, now: now(), order });

  return { openingOf, endingOf };
}

/** UTC microseconds, which put the writes of this process in order: those below a millisecond count its writes. */
function createOrder(now: () => number): () => number {
  let writtenAt = 0;
  let writes = 0;
  return () => {
    const at = Math.trunc(now());
    writes = at === writtenAt ? writes + 1 : 0;
    writtenAt = at;
    return at * 1_000 + Math.min(writes, 999);
  };
}

function prepare(db: Db) {
  const prepareUpdate = <Input>(columns: WrittenColumns<Input>, idOf: (input: Input) => RequestId) =>
    writer(db.prepare(`UPDATE journal SET ${columns.assignments.join(', ')} WHERE id = ?`), [
      ...columns.values,
      idOf,
    ]);
  const selectHolds = (where: string) =>
    db.prepare<[number], Row>(`
      SELECT h.id, h.project_id AS projectId, h.key_id AS keyId, e.name AS endpoint, p.name AS provider, m.name AS model,
      a.name AS askedModel, h.flags, h.hold_nano_usd AS amount, h.charges, c.name AS process, r.name AS repo
      FROM journal h
      JOIN names e ON e.id = h.endpoint_id JOIN names p ON p.id = h.provider_id
      JOIN names m ON m.id = h.model_id JOIN names a ON a.id = h.asked_model_id
      JOIN names c ON c.id = h.process_id JOIN names r ON r.id = h.repo_id
      WHERE ${where} AND h.state = ${HELD} ORDER BY h.id`);
  return {
    insert: writer(
      db.prepare(`INSERT INTO journal (${OPENED.names.join(', ')})
        VALUES (${OPENED.names.map(() => '?').join(', ')})`),
      OPENED.values,
    ),
    reopen: prepareUpdate(REOPENED, ({ head }) => head.id),
    reopenNeed: prepareUpdate(REOPENED_NEED, ({ head }) => head.id),
    update: prepareUpdate(ENDED, ({ record }) => record.id),
    updateOrigin: db.prepare<[number, number, number]>(`
      UPDATE journal SET process_id = ?, repo_id = ?, state = iif(folded_ms IS NULL, ${SETTLED}, state)
      WHERE id = ? AND state = ${OPEN}`),
    openFold: db.prepare<[number]>(`UPDATE journal SET state = ${OPEN}, folded_ms = 0 WHERE id = ?`),
    fold: db.prepare<[number, number]>(`UPDATE journal SET folded = folded + 1, folded_ms = max(0, ? - at)
      WHERE id = ? AND state = ${OPEN} AND folded_ms IS NOT NULL`),
    select: db.prepare<[number], { amount: number; charges: string }>(`SELECT hold_nano_usd AS amount, charges
      FROM journal WHERE id = ? AND state = ${HELD}`),
    selectSlot: selectHolds('h.slot = ? AND NOT EXISTS (SELECT 1 FROM jobs WHERE request_id = h.id)'),
    selectOpen: selectHolds('h.id = ?'),
  };
}

/** The first request of a session. */
interface FirstRequest {
  /** When it came in, UTC milliseconds. */
  at: number;
  projectId: number;
}

/** Ids of names. */
interface SessionNames {
  agentId: number;
  agentVersionId: number;
  repoId: number;
}

/** The sessions that requests belong to. Their figures are added when requests are archived. */
type Sessions = ReturnType<typeof createSessions>;

/** Longer ids are cut: clients choose them. */
const MAX_LENGTH = 200;

export function createSessions(db: Db) {
  const select = db
    .prepare<[string, number, number], number>(`SELECT id FROM sessions WHERE external_id = ?
      AND project_id = ? AND agent_id = ?`)
    .pluck();
  const insert = db.prepare<(string | number)[]>(`
    INSERT INTO sessions (external_id, project_id, agent_id, agent_version_id, repo_id, first_at, last_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const cache = createIdCache();
  return {
    /** The id of an agent's session, which is added if it is new. Call it within a write transaction. */
    idOf(
      externalId: string,
      { at, projectId }: FirstRequest,
      { agentId, agentVersionId, repoId }: SessionNames,
    ): number {
      const text = externalId.slice(0, MAX_LENGTH);
      const key = `${projectId} ${agentId} ${text}`;
      const cached = cache.get(key);
      if (cached !== undefined) return cached;
      const id =
        select.get(text, projectId, agentId) ??
        Number(insert.run(text, projectId, agentId, agentVersionId, repoId, at, at).lastInsertRowid);
      cache.set(key, id);
      return id;
    },
    /** The transaction has ended. */
    settle: cache.settle,
  };
}

/** Flags of requests whose cost is not what the provider billed. */
const UNKNOWN_COST = FLAGS.estimated | FLAGS.unpriced | FLAGS.unmetered;

/** A trial is of one level: its position here is stored above the 48 bits of the conversation's hash. */
const LEVELS = ['safe', 'balanced'];
export const LEVEL_UNIT = 2 ** 48;

export function trialLevel(level: string): number {
  return LEVELS.indexOf(level) + 1;
}

/** Adds requests to the sums of their conversation. Call it within a write transaction. `now`: its time. */
function createTrialWriter(
  db: Db,
  now: () => number,
): (record: RequestRecord, trial: Trial, providerId: number, modelId: number) => void {
  const upsert = db.prepare<number[]>(`INSERT INTO optimizer_trials VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)
    ON CONFLICT DO UPDATE SET requests = requests + 1, original_tokens = original_tokens + excluded.original_tokens,
    cost_nano_usd = cost_nano_usd + excluded.cost_nano_usd, last_at = max(last_at, excluded.last_at)`);
  return (record, { conversation, heldOut, level, originalTokens }, providerId, modelId) => {
    const { projectId, costNanoUsd, outcome, flags } = record;
    // A free request has nothing to save.
    if (outcome !== 'ok' || flags & UNKNOWN_COST || costNanoUsd === 0) return;
    const side = heldOut ? 1 : 0;
    const key = conversation + trialLevel(level) * LEVEL_UNIT;
    upsert.run(projectId, side, providerId, modelId, key, originalTokens, costNanoUsd, Math.trunc(now()));
  };
}
