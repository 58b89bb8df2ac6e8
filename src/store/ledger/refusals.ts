import type { RequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { createEnqueue } from '../webhooks/enqueue.ts';
import type { InsertEvent } from './events.ts';
import type { Journal } from './journal.ts';
import type { RequestRecord } from './record.ts';

/** A row that stands for several refusals. */
export interface RefusalFold {
  id: RequestId;
  /** The sequence number of its `request.blocked` event; undefined if none of its refusals has made one. */
  event?: number;
}

/** Refusals of a key, of one outcome, that have rows of their own in a minute. */
const MAX_SINGLE = 100;
const MINUTE_MS = 60_000;

interface Refusals {
  count: number;
  fold: RefusalFold | undefined;
}

/**
 * Refusals cost a client nothing, so their rows are bounded: after the first hundred of a key in a minute, one row counts
 * the rest of that minute. Reports add up these counts. `now`: the time of the running batch.
 */
export function createRefusalFolds(journal: Pick<Journal, 'add' | 'addFold' | 'fold'>, now: () => number) {
  let minute = 0;
  /** Those of the running minute, by key and outcome. */
  const refusals = new Map<string, Refusals>();

  function refusalsLike({ keyId, projectId, outcome }: RequestRecord): Refusals {
    const current = Math.floor(now() / MINUTE_MS);
    if (current !== minute) refusals.clear();
    minute = current;
    const name = `${keyId} ${projectId} ${outcome}`;
    const known = refusals.get(name) ?? { count: 0, fold: undefined };
    refusals.set(name, known);
    return known;
  }

  return {
    /** Writes a request that never held anything. Returns the row that stands for it and others; undefined if it has a row of its own. */
    add(slot: number, record: RequestRecord): RefusalFold | undefined {
      if (record.outcome === 'ok') return void journal.add(slot, record);
      const like = refusalsLike(record);
      // The archive has a row that was open for too long.
      if (like.fold && journal.fold(like.fold.id)) return like.fold;
      like.count++;
      if (like.count <= MAX_SINGLE) {
        journal.add(slot, record);
        return undefined;
      }
      journal.addFold(slot, record);
      like.fold = { id: record.id };
      return like.fold;
    },
    /** Begins new rows: the batch has failed, and theirs may be gone. */
    forget() {
      for (const like of refusals.values()) like.fold = undefined;
    },
  };
}

/** Announces that a budget blocked a request. Those that share a row share its event, and are counted for webhooks. */
export type EmitBlocked = (
  projectId: number,
  data: Record<string, unknown>,
  fold: RefusalFold | undefined,
) => void;

export function createBlockedEvents(db: Db, now: () => number, insert: InsertEvent): EmitBlocked {
  const enqueue = createEnqueue(db);
  return (projectId, data, fold) => {
    if (fold?.event !== undefined)
      return enqueue({ sequence: fold.event, type: 'request.blocked', projectId, createdAt: now() });
    const sequence = insert('request.blocked', projectId, data);
    if (fold) fold.event = sequence;
  };
}
