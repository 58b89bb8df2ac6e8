import type { Db } from '../database/open.ts';

/** Tells whether what a writer keeps in memory is still what the database holds. */
export interface ChangeWatch {
  /** Within a write transaction: whether nobody else, in this process or another, has written since `note`. */
  isUnchanged(): boolean;
  /** At the end of a write transaction: what it wrote is known. */
  note(): void;
}

/** SQLite counts the commits of other connections, and the rows that this one has changed. */
export function createChangeWatch(db: Db): ChangeWatch {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck();
  let version: number | undefined;
  let changes: number | undefined;
  return {
    isUnchanged() {
      const last = version;
      version = dataVersion.get();
      return version === last && totalChanges.get() === changes;
    },
    note() {
      changes = totalChanges.get();
    },
  };
}
