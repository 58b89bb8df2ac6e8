import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { oldestRecordAt } from './daemons.ts';
import { schemaVersion } from './migrate.ts';
import { idsBefore } from './sql-parts.ts';

/** Checks a database file without changing it. `quick` skips `quick_check`, which reads the whole file. */
export function inspectDatabase(path: string, { quick = false } = {}) {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    const checks = quick ? [] : (db.pragma('quick_check(5)') as { quick_check: string }[]);
    const schema = Number(db.pragma('user_version', { simple: true }));
    const count = (table: string) => Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    const tables = db
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE name IN ('requests', 'journal')")
      .pluck();
    const requests = tables.all().reduce((sum, table) => sum + count(table), 0);
    return {
      faults: checks.map((row) => row.quick_check).filter((text) => text !== 'ok'),
      schema,
      wantedSchema: schemaVersion(),
      requests,
    };
  } finally {
    db.close();
  }
}

/** The size of a database, in bytes, by what takes the space. */
export interface DatabaseSize {
  /** Tables with their indexes, the largest first. */
  tables: { name: string; bytes: number }[];
  /** Free pages, which SQLite reuses. */
  freeBytes: number;
  /** The write-ahead log beside the file. */
  walBytes: number;
  /** When the oldest recorded request came in, UTC milliseconds; null without any. */
  oldestRequestAt: number | null;
  /** Counts the requests that came in before a time. */
  requestsBefore(timeMs: number): number;
}

/** Measures a database without changing it. Reads every page once: about a second a gigabyte. */
export function measureDatabase<T>(path: string, use: (size: DatabaseSize) => T): T {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    return use({
      tables: db
        .prepare<[], { name: string; bytes: number }>(`
          SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
          WHERE d.aggregate = TRUE GROUP BY s.tbl_name ORDER BY bytes DESC`)
        .all(),
      freeBytes: pragma(db, 'freelist_count') * pragma(db, 'page_size'),
      walBytes: statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
      oldestRequestAt: oldestRecordAt(db) ?? null,
      requestsBefore: (timeMs) =>
        Number(
          db
            .prepare(`SELECT count(*) FROM request_log WHERE id < ${idsBefore(timeMs)} AND at < ?`)
            .pluck()
            .get(timeMs),
        ),
    });
  } finally {
    db.close();
  }
}

const pragma = (db: Database.Database, name: string): number => Number(db.pragma(name, { simple: true }));
