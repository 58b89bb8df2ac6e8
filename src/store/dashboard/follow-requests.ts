import { type RequestId, requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { getRequest, type LoggedRequest } from '../requests/request-log.ts';

/** How long a request may wait and upload before it holds anything: until then nothing tells that it is coming. */
const UNSEEN_MS = 60_000;

/** Hands out each request once, when its record is written. */
export interface RequestFollower {
  /** The requests recorded since the last call, in the order in which they came in. */
  next(now: number): Promise<LoggedRequest[]>;
}

/**
 * Follows the records that are written from now on. An id tells when a request came in, not when it ended, so a
 * watermark alone would miss the slow ones: those that hold money are remembered until they are recorded.
 */
export function createRequestFollower(db: Db, startMs: number): RequestFollower {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const selectNew = db.prepare<[number], number>('SELECT id FROM requests WHERE id >= ?').pluck();
  const selectHeld = db.prepare<[number], number>('SELECT id FROM holds WHERE id < ?').pluck();
  const exists = db.prepare<[number], number>('SELECT 1 FROM requests WHERE id = ?').pluck();
  let version: number | undefined;
  let held: RequestId[] = [];
  let told: Set<RequestId>;

  const look = db.transaction((now: number): RequestId[] => {
    const from = requestIdAt(now - UNSEEN_MS);
    const recent = selectNew.all(from);
    const landed = held.filter((id) => id < from && exists.get(id) !== undefined);
    held = selectHeld.all(requestIdAt(now));
    const found = [...landed, ...recent].filter((id) => !told.has(id));
    told = new Set([...recent, ...landed]);
    return found;
  });

  // What is there already is not new.
  told = new Set();
  look(startMs);

  return {
    async next(now) {
      const current = dataVersion.get();
      if (current === version) return [];
      version = current;
      const rows = await Promise.all(look(now).map((id) => getRequest(db, id)));
      return rows.filter((row) => row !== undefined).sort((a, b) => a.id - b.id);
    },
  };
}
