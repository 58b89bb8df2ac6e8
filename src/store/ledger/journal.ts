import { EPOCH_MS, type RequestId, timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Origin } from '../../origin.ts';
import type { Names } from '../database/names.ts';
import type { Db } from '../database/open.ts';
import type { Charge } from './account.ts';
import {
  FLAGS,
  INPUT_BOUNDS,
  MISS_CAUSES,
  OUTCOMES,
  type RecordedNeed,
  type RequestClient,
  type RequestRecord,
  SOURCES,
} from './record.ts';
import type { Sessions } from './sessions.ts';
import { createTrialWriter } from './trials.ts';

/** The part of a request record that is known before the request is sent. */
export interface RequestHead
  extends RequestClient,
    Pick<
      RequestRecord,
      'id' | 'projectId' | 'keyId' | 'endpoint' | 'provider' | 'model' | 'askedModel' | 'origin'
    > {
  stream: boolean;
  /** A subscription covers it: no budget counts it. */
  notBilled?: boolean;
}

/** The repository of a request; '' where it isn't known. */
export const repoOf = ({ origin }: Pick<RequestHead, 'origin'>): string => origin?.repo ?? '';

/** What a running request holds, and in which balances. */
export interface Hold {
  amount: NanoUsd;
  charges: Charge[];
}

/** An open hold with the request that it is for. */
export interface OpenHold extends RequestHead, Hold {}

/** States of a row. The numbers are stored. */
const HELD = 0;
const SETTLED = 1;
/** Settled, and not archived while the search for its caller is running or, with `folded_ms`, refusals are counted in it. */
const OPEN = 2;

/**
 * The rows of requests that run or have just ended. A row is added with the hold, before anything is sent, and becomes
 * the record when the request ends: so both are on one page, the table's last. The archive takes ended rows over.
 */
export interface Journal {
  /** Adds the row of a request that is about to be sent. `need`: its worst case in parts, if its price is known. */
  open(slot: number, head: RequestHead, hold: Hold, need: RecordedNeed | undefined): void;
  /** Replaces the hold of a running request by that of its next attempt; without `need`, that one was refused. */
  reopen(slot: number, head: RequestHead, hold: Hold, need: RecordedNeed | undefined): void;
  /** The hold of a running request; undefined if it has none or has ended. */
  holdOf(id: RequestId): Hold | undefined;
  /** A hold that this process has added since anything else was written; undefined says nothing. */
  cached(id: RequestId): Hold | undefined;
  /** The open holds of a daemon. */
  ofSlot(slot: number): OpenHold[];
  /** Turns the row of a running request into its record. */
  settle(record: RequestRecord): void;
  /** Adds the record of a request that never held anything. */
  add(slot: number, record: RequestRecord): void;
  /** As `add`, of a row that more refusals are counted in. */
  addFold(slot: number, record: RequestRecord): void;
  /** Counts a refusal in such a row. Returns false if it is archived. */
  fold(id: RequestId): boolean;
  /** Adds the caller to a record that was written while it was searched for. Does nothing to any other record. */
  endSearch(id: RequestId, origin: Origin): void;
  /** Drops what is cached: another writer has committed, or the batch has failed. */
  forget(): void;
}

export interface JournalOptions {
  db: Db;
  names: Names;
  sessions: Sessions;
  /** The time of the running batch. */
  now: () => number;
}

interface Row extends Omit<OpenHold, 'stream' | 'notBilled' | 'charges' | 'origin'> {
  flags: number;
  charges: string;
  process: string;
  repo: string;
}

export function createJournal(options: JournalOptions): Journal {
  const { db, names } = options;
  const statements = prepare(db);
  const { replace, replaceNeed, openFold, fold, updateOrigin, select, selectSlot } = statements;
  const { insert, update } = createRowWriter(options, statements);
  const writeTrial = createTrialWriter(db, options.now);
  /** The rows that this process has added. */
  const cache = new Map<RequestId, Hold>();

  function settle(record: RequestRecord): void {
    update(record);
    cache.delete(record.id);
    if (record.trial) writeTrial(record, record.trial, names.idOf(record.provider), names.idOf(record.model));
  }

  function add(slot: number, record: RequestRecord): void {
    insert(slot, { ...record, stream: false }, undefined, record.need);
    settle(record);
  }

  return {
    open(slot, head, hold, need) {
      insert(slot, head, hold, need);
      cache.set(head.id, hold);
    },
    reopen(slot, head, hold, need) {
      replace.run(
        slot,
        names.idOf(head.provider),
        names.idOf(head.model),
        head.origin ? names.idOf(head.origin.process) : 0,
        head.origin ? names.idOf(head.origin.repo) : 0,
        hold.amount,
        chargesText(hold.charges),
        head.id,
      );
      if (need) replaceNeed.run(...needColumns(need), head.id);
      cache.set(head.id, hold);
    },
    holdOf(id) {
      const hold = cache.get(id);
      if (hold) return hold;
      const row = select.get(id);
      return row && { amount: row.amount, charges: JSON.parse(row.charges) };
    },
    cached: (id) => cache.get(id),
    ofSlot: (slot) =>
      selectSlot.all(slot).map(({ process, repo, flags, ...row }) => ({
        ...row,
        stream: (flags & FLAGS.stream) !== 0,
        notBilled: (flags & FLAGS.not_billed) !== 0,
        charges: JSON.parse(row.charges),
        origin: { process, repo },
      })),
    settle,
    add,
    addFold(slot, record) {
      add(slot, record);
      openFold.run(record.id);
    },
    fold: (id) => fold.run(Math.trunc(options.now()), id).changes > 0,
    endSearch: (id, { process, repo }) => updateOrigin.run(names.idOf(process), names.idOf(repo), id),
    forget: () => cache.clear(),
  };
}

/** When a request came in; not after the running batch, as an id may be, unless the clock is not set. */
function arrivalOf(id: RequestId, now: number): number {
  const time = timeOfRequestId(id);
  return now < EPOCH_MS ? time : Math.min(time, Math.trunc(now));
}

/** Writes the columns of a row: those that are known with the hold, and those of the end. */
function createRowWriter({ names, sessions, now }: JournalOptions, statements: ReturnType<typeof prepare>) {
  const order = createOrder(now);

  function insert(
    slot: number,
    head: RequestHead,
    hold: Hold | undefined,
    need: RecordedNeed | undefined,
  ): void {
    const agentId = head.agent === undefined ? 0 : names.idOf(head.agent);
    const agentVersionId = head.agentVersion === undefined ? 0 : names.idOf(head.agentVersion);
    const repoId = head.origin ? names.idOf(head.origin.repo) : 0;
    statements.insert.run(
      head.id,
      timeOfRequestId(head.id) - arrivalOf(head.id, now()),
      slot,
      head.projectId,
      head.keyId,
      names.idOf(head.endpoint),
      names.idOf(head.provider),
      names.idOf(head.model),
      names.idOf(head.askedModel),
      (head.stream ? FLAGS.stream : 0) | (head.notBilled ? FLAGS.not_billed : 0),
      hold ? hold.amount : 0,
      hold ? chargesText(hold.charges) : '[]',
      ...(need ? needColumns(need) : NO_NEED),
      hold ? Math.max(0, now() - timeOfRequestId(head.id)) * 1_000 : null,
      hold ? order() - arrivalOf(head.id, now()) * 1_000 : null,
      head.origin ? names.idOf(head.origin.process) : 0,
      repoId,
      agentId,
      agentVersionId,
      head.session === undefined
        ? 0
        : sessions.idOf(
            head.session,
            { at: arrivalOf(head.id, now()), projectId: head.projectId },
            { agentId, agentVersionId, repoId },
          ),
    );
  }

  function update(record: RequestRecord): void {
    const { usage, origin, timings, missed, lowered } = record;
    statements.update.run(
      origin?.search ? OPEN : SETTLED,
      names.idOf(record.provider),
      names.idOf(record.model),
      record.status,
      OUTCOMES[record.outcome],
      record.flags,
      record.source === undefined ? SOURCES.gw : SOURCES[record.source],
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens + usage.cacheWrite1hTokens,
      usage.outputTokens,
      usage.reasoningTokens,
      record.savedTokens,
      missed ? missed.tokens : 0,
      missed ? MISS_CAUSES[missed.cause] : 0,
      record.costNanoUsd,
      record.savedNanoUsd,
      missed ? missed.nanoUsd : 0,
      lowered ? whole(lowered.asked) : null,
      lowered ? whole(lowered.sent) : null,
      micros(timings?.body),
      micros(timings?.compressed),
      micros(timings?.held),
      micros(timings?.sent),
      record.firstByteMs === null ? null : Math.round(record.firstByteMs),
      Math.round(record.durationMs),
      Math.trunc(now()),
      order(),
      origin ? names.idOf(origin.process) : 0,
      origin ? names.idOf(origin.repo) : 0,
      record.upstreamMessageId ?? null,
      record.upstreamRequestId ?? null,
      record.detail ? JSON.stringify(record.detail) : null,
      record.id,
    );
  }

  return { insert, update };
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

/** As JSON. */
const chargesText = (charges: Charge[]): string =>
  `[${charges.map(([budgetId, start]) => `[${budgetId},${start}]`).join()}]`;

const micros = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms * 1_000));

/** A number of tokens, as a client or a provider may give it, within what a column of integers takes. */
const whole = (tokens: number | null): number | null =>
  tokens === null ? null : Math.min(Math.round(tokens), Number.MAX_SAFE_INTEGER);

const NEED = [
  'need_input_tokens',
  'need_input_bound',
  'need_output_tokens',
  'output_asked_tokens',
  'need_input_nano_usd',
  'need_output_nano_usd',
  'need_fees_nano_usd',
];
const NO_NEED = [0, 0, 0, null, 0, 0, 0];

function needColumns(need: RecordedNeed): (number | null)[] {
  return [
    whole(need.inputTokens),
    INPUT_BOUNDS[need.inputBound],
    whole(need.outputTokens),
    whole(need.outputAskedTokens),
    need.inputNanoUsd,
    need.outputNanoUsd,
    need.feesNanoUsd,
  ];
}

/** The columns that are written with the hold, in the order of `insert`. */
const OPENED = [
  'id',
  'ahead_ms',
  'slot',
  'project_id',
  'key_id',
  'endpoint_id',
  'provider_id',
  'model_id',
  'asked_model_id',
  'flags',
  'hold_nano_usd',
  'charges',
  ...NEED,
  'held_us',
  'admitted_us',
  'process_id',
  'repo_id',
  'agent_id',
  'agent_version_id',
  'session_id',
];

/** The columns that are written when the request ends, in the order of `update`. */
const SETTLED_COLUMNS = [
  'state = ?',
  'provider_id = ?',
  'model_id = ?',
  'status = ?',
  'outcome = ?',
  'flags = ?',
  'source = ?',
  'input_tokens = ?',
  'cached_input_tokens = ?',
  'cache_write_tokens = ?',
  'output_tokens = ?',
  'reasoning_tokens = ?',
  'saved_tokens = ?',
  'missed_tokens = ?',
  'miss_cause = ?',
  'cost_nano_usd = ?',
  'saved_nano_usd = ?',
  'missed_nano_usd = ?',
  'limit_asked_tokens = ?',
  'output_sent_tokens = ?',
  'body_us = ?',
  'compressed_us = ?',
  'held_us = coalesce(?, held_us)',
  'sent_us = ?',
  'first_byte_ms = ?',
  'duration_ms = ?',
  'settled_ms = max(0, ? - at)',
  'settled_us = ? - at * 1000',
  'process_id = ?',
  'repo_id = ?',
  'upstream_message_id = ?',
  'upstream_request_id = ?',
  'detail = ?',
];

function prepare(db: Db) {
  return {
    insert: db.prepare<(number | string | null)[]>(
      `INSERT INTO journal (state, ${OPENED.join(', ')}) VALUES (${HELD}, ${OPENED.map(() => '?').join(', ')})`,
    ),
    replace: db.prepare<(number | string)[]>(
      'UPDATE journal SET slot = ?, provider_id = ?, model_id = ?, process_id = ?, repo_id = ?, hold_nano_usd = ?, charges = ? WHERE id = ?',
    ),
    replaceNeed: db.prepare<(number | null)[]>(
      `UPDATE journal SET ${NEED.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`,
    ),
    update: db.prepare<(number | string | null)[]>(
      `UPDATE journal SET ${SETTLED_COLUMNS.join(', ')} WHERE id = ?`,
    ),
    updateOrigin: db.prepare<[number, number, number]>(
      `UPDATE journal SET process_id = ?, repo_id = ?, state = iif(folded_ms IS NULL, ${SETTLED}, state)
       WHERE id = ? AND state = ${OPEN}`,
    ),
    openFold: db.prepare<[number]>(`UPDATE journal SET state = ${OPEN}, folded_ms = 0 WHERE id = ?`),
    fold: db.prepare<[number, number]>(
      `UPDATE journal SET folded = folded + 1, folded_ms = max(0, ? - at) WHERE id = ? AND state = ${OPEN} AND folded_ms IS NOT NULL`,
    ),
    select: db.prepare<[number], { amount: number; charges: string }>(
      `SELECT hold_nano_usd AS amount, charges FROM journal WHERE id = ? AND state = ${HELD}`,
    ),
    selectSlot: db.prepare<[number], Row>(
      `SELECT h.id, h.project_id AS projectId, h.key_id AS keyId, e.name AS endpoint, p.name AS provider, m.name AS model,
       a.name AS askedModel, h.flags, h.hold_nano_usd AS amount, h.charges, c.name AS process, r.name AS repo
       FROM journal h
       JOIN names e ON e.id = h.endpoint_id JOIN names p ON p.id = h.provider_id
       JOIN names m ON m.id = h.model_id JOIN names a ON a.id = h.asked_model_id
       JOIN names c ON c.id = h.process_id JOIN names r ON r.id = h.repo_id
       WHERE h.slot = ? AND h.state = ${HELD} ORDER BY h.id`,
    ),
  };
}
