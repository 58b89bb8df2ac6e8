import Database from 'better-sqlite3';
import { GwError } from '../../errors.ts';
import { createRequestIds, MAX_SLOTS, type RequestId, type RequestIds } from '../../ids.ts';
import { insertRow, type Row } from './columns.ts';
import { stampDatabase } from './file-watch.ts';
import { isLockFree } from './lock.ts';
import type { Db } from './open.ts';

/** A daemon that uses the database. Its holds and its request ids carry its slot. */
export type DaemonRow = Omit<Row<'daemons'>, 'startedAt'>;

/** Holds that end with their daemon: those of jobs end with the jobs. */
const OWN_HOLDS = 'open_holds WHERE id NOT IN (SELECT request_id FROM jobs)';

const COLUMNS = 'slot, instance_id AS instanceId, pid, lock_path AS lockPath';

/**
 * Registers a daemon that holds the lock on `lockPath`, in the lowest free slot. A slot with open holds is not free
 * until they are closed. The first daemon stamps the database. Throws GwError `too_many_daemons`.
 */
export function registerDaemon(db: Db, daemon: Omit<DaemonRow, 'slot'> & { startedAt: number }): number {
  const register = db.transaction(() => {
    const usedSlots = db
      .prepare<[], { slot: number }>(`SELECT slot FROM daemons UNION SELECT slot FROM ${OWN_HOLDS}`)
      .all()
      .map((row) => row.slot);
    const slot = Array.from({ length: MAX_SLOTS }, (_, i) => i).find((i) => !usedSlots.includes(i));
    if (slot === undefined) {
      throw new GwError(
        `${MAX_SLOTS} daemons share this database already, and no more can. Stop one: gw stop`,
        { status: 503, type: 'api_error', code: 'too_many_daemons' },
      );
    }
    if (db.prepare('SELECT 1 FROM daemons').get() === undefined) stampDatabase(db);
    insertRow(db, 'daemons', { ...daemon, slot });
    return slot;
  });
  return register.immediate();
}

/** The registered daemon with an instance id. */
export function findDaemonRow(db: Db, instanceId: string): (DaemonRow & { startedAt: number }) | undefined {
  return db
    .prepare<[string], DaemonRow & { startedAt: number }>(`SELECT ${COLUMNS}, started_at AS startedAt
      FROM daemons WHERE instance_id = ?`)
    .get(instanceId);
}

/** The highest stored request id; 0 without any. New ids are higher, even after the clock was set back (ids.ts). */
export const lastRequestId = (db: Db): RequestId => prepareLastRequestId(db)();

function prepareLastRequestId(db: Db): () => RequestId {
  const last = db.prepare<[], RequestId | null>(
    "SELECT max(id) FROM (SELECT max(id) AS id FROM requests UNION ALL SELECT max(id) FROM journal UNION ALL SELECT max(request_id) FROM asks UNION ALL SELECT value FROM meta WHERE key = 'last_request_id')",
  );
  last.pluck();
  return () => last.get() ?? 0;
}

/** The ids for the requests of one daemon: greater than those of others, wherever the clock had led them. */
export function createStoredIds(
  db: Db,
  options: { slot: number; now: () => number; onOthersWrote: (listener: () => void) => void },
): RequestIds {
  const lastId = prepareLastRequestId(db);
  const nextId = createRequestIds(options.slot, options.now, lastId());
  options.onOthersWrote(() => nextId.follow(lastId()));
  return nextId;
}

/** When the newest request came in by the clock of its time; 0 without any. */
export function lastRecordAt(db: Db): number {
  const select = db.prepare<[number, number], number>(`SELECT at FROM journal WHERE id = ? UNION ALL SELECT at
    FROM requests WHERE id = ?`);
  const id = lastRequestId(db);
  return select.pluck().get(id, id) ?? 0;
}

/** When the oldest kept record came in; undefined without any. */
export function oldestRecordAt(db: Db): number | undefined {
  const select = db.prepare<[], number>(`SELECT at FROM request_log WHERE id = (SELECT min(id)
    FROM request_log)`);
  return select.pluck().get();
}

/** The registered daemons that are dead, as seen by the daemon `own.instanceId`, which holds `own.lockPath`. */
export function deadDaemons(db: Db, own: { instanceId: string; lockPath: string }): DaemonRow[] {
  return db
    .prepare<[string], DaemonRow>(`SELECT ${COLUMNS} FROM daemons WHERE instance_id <> ?`)
    .all(own.instanceId)
    .filter((daemon) => daemon.lockPath === own.lockPath || isLockFree(daemon.lockPath));
}

/** The slots of the daemons that live. */
export function liveSlots(db: Db): Set<number> {
  const daemons = db.prepare<[], DaemonRow>(`SELECT ${COLUMNS} FROM daemons`).all();
  const live = daemons.filter(({ pid, lockPath }) => pid === process.pid || !isLockFree(lockPath));
  return new Set(live.map(({ slot }) => slot));
}

/** The daemons that run on a database file, without the one that `ownLock` stands for. */
export function liveDaemons(path: string, ownLock: string): DaemonRow[] {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return db
      .prepare<[], DaemonRow>(`SELECT ${COLUMNS} FROM daemons`)
      .all()
      .filter(({ lockPath }) => lockPath !== ownLock && !isLockFree(lockPath));
  } catch {
    // A database that can't be read is replaced all the same.
    return [];
  } finally {
    db.close();
  }
}

/** Slots that have open holds and no registered daemon. */
export function orphanedSlots(db: Db): number[] {
  return db
    .prepare<[], { slot: number }>(
      `SELECT DISTINCT slot FROM ${OWN_HOLDS} AND slot NOT IN (SELECT slot FROM daemons)`,
    )
    .all()
    .map((row) => row.slot);
}

/** Removes a daemon's registration. */
export function unregisterDaemon(db: Db, instanceId: string): void {
  db.prepare('DELETE FROM daemons WHERE instance_id = ?').run(instanceId);
}
