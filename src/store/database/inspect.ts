import Database from 'better-sqlite3';
import { schemaVersion } from './migrate.ts';

/** The state of a database file. */
export interface Inspection {
  /** The errors that `quick_check` reports; empty for a sound file. */
  faults: string[];
  schema: number;
  /** The schema that this version of gw writes. */
  wantedSchema: number;
  requests: number;
}

/** Checks a database file without changing it. `quick` skips `quick_check`, which reads the whole file. */
export function inspectDatabase(path: string, { quick = false } = {}): Inspection {
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
