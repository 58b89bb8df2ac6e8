import type { Db } from '../database/open.ts';

/** Checks whether rows that a writer has cached are still current. */
export interface ChangeWatch {
  /** Whether nobody else, in this process or another, has written since `note`. Call it within a write transaction. */
  isUnchanged(): boolean;
  /** As `isUnchanged`, at any time, without taking note: somebody may write right after. */
  looksUnchanged(): boolean;
  /** Notes the writes of the running transaction as known. Call it at its end. */
  note(): void;
}

/** SQLite counts the commits of other connections (`data_version`) and the rows changed by this one. */
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
    looksUnchanged: () => dataVersion.get() === version && totalChanges.get() === changes,
    note() {
      changes = totalChanges.get();
    },
  };
}
