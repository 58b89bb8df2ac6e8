import Database from 'better-sqlite3';
import { schemaVersion } from './migrate.ts';

/** What a look at a database file, without changing it, shows. */
export interface Inspection {
  /** What `quick_check` found wrong; empty: sound. */
  faults: string[];
  schema: number;
  /** The schema that this version of gw writes. */
  wantedSchema: number;
  requests: number;
}

/** Checks a database file; `quick` leaves out the search for damage, which reads all of it. Throws if it cannot be read at all. */
export function inspectDatabase(path: string, { quick = false } = {}): Inspection {
  const db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    const found = quick ? [] : (db.pragma('quick_check(5)') as { quick_check: string }[]);
    const schema = Number(db.pragma('user_version', { simple: true }));
    const requests = schema > 0 ? Number(db.prepare('SELECT count(*) FROM requests').pluck().get()) : 0;
    return {
      faults: found.map((row) => row.quick_check).filter((text) => text !== 'ok'),
      schema,
      wantedSchema: schemaVersion(),
      requests,
    };
  } finally {
    db.close();
  }
}
