import type { Db } from '../database/open.ts';
import { IS_UNNEEDED } from '../database/retention.ts';
import { FLAGS, OUTCOMES } from '../ledger/record.ts';

/**
 * Keeps a database within a size, however fast a key without money is refused: drops what cost nothing, a few rows a call,
 * within a write transaction. The oldest refusals go first, then other records without cost, then deliveries that have
 * ended and events. Records of money stay, whatever they take, and so do the figures of reports. Returns whether there
 * may be more to drop.
 */
export type SizeLimit = (maxBytes: number) => boolean;

/** Rows deleted in one step: about a millisecond, as by age (database/retention.ts). */
const ROWS = 250;
/** Rows that a step looks at. */
const SEARCHED = 5_000;

const COSTS_UNKNOWN = FLAGS.unpriced | FLAGS.unmetered | FLAGS.estimated;
/** Ids must not be used again (`lastRequestId`). */
const NOT_NEWEST = 'id < (SELECT max(id) FROM requests)';

export function createSizeLimit(db: Db): SizeLimit {
  const steps = [createRefusals(db), createFreeRecords(db), createEvents(db)];
  return (maxBytes) => usedBytes(db) > maxBytes && steps.some((step) => step());
}

function usedBytes(db: Db): number {
  const [pages = 0, free = 0, bytes = 0] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  );
  return (pages - free) * bytes;
}

/** Deletes records with their details. Returns whether there were any ids. */
export function createDelete(db: Db): (ids: readonly number[]) => boolean {
  const [records, details] = ['requests', 'request_details'].map((table) =>
    db.prepare<[string]>(`DELETE FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`),
  );
  return (ids) => {
    const list = JSON.stringify(ids);
    details?.run(list);
    records?.run(list);
    return ids.length > 0;
  };
}

function createRefusals(db: Db): () => boolean {
  const oldest = (outcome: number) =>
    `SELECT id FROM (SELECT id FROM requests WHERE outcome = ${outcome} AND outcome <> ${OUTCOMES.ok}
     AND cost_nano_usd = 0 AND hold_nano_usd = 0 AND ${NOT_NEWEST} ORDER BY id LIMIT ${ROWS})`;
  const select = db
    .prepare<[], number>(`${oldest(OUTCOMES.blocked)} UNION ALL ${oldest(OUTCOMES.refused)} ORDER BY id
      LIMIT ${ROWS}`)
    .pluck();
  const remove = createDelete(db);
  return () => remove(select.all());
}

/** Goes through all records, oldest first, a few a step, and begins again when all have been looked at. */
function createFreeRecords(db: Db): () => boolean {
  const end = db
    .prepare<[number], number | null>(`SELECT max(id) FROM (SELECT id FROM requests WHERE id > ? ORDER BY id
      LIMIT ${SEARCHED})`)
    .pluck();
  const select = db
    .prepare<[number, number], number>(`SELECT id FROM requests WHERE id > ? AND id <= ? AND cost_nano_usd = 0
      AND (flags & ${COSTS_UNKNOWN}) = 0 AND ${NOT_NEWEST} ORDER BY id LIMIT ${ROWS}`)
    .pluck();
  const remove = createDelete(db);
  let after = 0;
  return () => {
    const last = end.get(after);
    if (last === null || last === undefined) {
      after = 0;
      return false;
    }
    const ids = select.all(after, last);
    after = ids.length === ROWS ? (ids.at(-1) ?? last) : last;
    remove(ids);
    return true;
  };
}

function createEvents(db: Db): () => boolean {
  const deliveries = db.prepare(`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
    WHERE finished_at IS NOT NULL ORDER BY id LIMIT ${ROWS})`);
  const events = db.prepare(`
    DELETE FROM events WHERE sequence IN (SELECT sequence FROM events ORDER BY sequence LIMIT ${ROWS})
    AND ${IS_UNNEEDED}`);
  return () => deliveries.run().changes + events.run().changes > 0;
}
