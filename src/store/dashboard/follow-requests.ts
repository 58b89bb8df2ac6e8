import { type RequestId, requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { getRequest, type LoggedRequest } from '../requests/request-log.ts';

/** How long a request may take to upload and wait before it holds anything: until then it has no row. */
const MAX_UNHELD_MS = 60_000;

/**
 * Follows the records that are written from now on. An id contains the time at which a request came in, not the time at
 * which it ended, so a watermark alone would miss slow requests: open holds are kept until they are recorded. Each request
 * is returned once, after its record is written.
 */
export function createRequestFollower(db: Db, startMs: number) {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const selectNew = db
    .prepare<[number, number], number>('SELECT id FROM request_log WHERE id >= ? AND at >= ?')
    .pluck();
  const selectHeld = db.prepare<[number], number>('SELECT id FROM open_holds WHERE at < ?').pluck();
  const exists = db.prepare<[number], number>('SELECT 1 FROM request_log WHERE id = ?').pluck();
  let version: number | undefined;
  let openHolds: RequestId[] = [];
  /** The requests of the last call. */
  let previous = new Set<RequestId>();

  const poll = db.transaction((now: number): RequestId[] => {
    const from = now - MAX_UNHELD_MS;
    const recent = selectNew.all(requestIdAt(from), from);
    const settled = openHolds.filter((id) => !recent.includes(id) && exists.get(id) !== undefined);
    openHolds = selectHeld.all(now);
    const ids = [...settled, ...recent];
    const added = ids.filter((id) => !previous.has(id));
    previous = new Set(ids);
    return added;
  });

  // Skips the requests that are recorded already.
  poll(startMs);

  return {
    /** The requests recorded since the last call, ordered by when they came in. */
    async next(now: number): Promise<LoggedRequest[]> {
      const current = dataVersion.get();
      if (current === version) return [];
      version = current;
      const rows = await Promise.all(poll(now).map((id) => getRequest(db, id)));
      return rows.filter((row) => row !== undefined).sort((a, b) => a.id - b.id);
    },
  };
}
