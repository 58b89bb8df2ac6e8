import type { Clock } from '../../clock.ts';
import type { Db } from './open.ts';

/** Checks whether rows that a writer has cached are still current. */
export type ChangeWatch = ReturnType<typeof createChangeWatch>;

const CHECK_MS = 10;

/** SQLite counts the commits of other connections (`data_version`) and the rows changed by this one. */
export function createChangeWatch(db: Db, clock: Pick<Clock, 'monotonic'>) {
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  const totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck();
  let version: number | undefined;
  let changes: number | undefined;
  /** When the database was last asked outside a transaction or in one, and whether nobody else had written by then. */
  let checkedAt = -Infinity;
  let wasUnchanged = false;
  return {
    /** Whether nobody else, in this process or another, has written since `note`. Call it within a write transaction. */
    isUnchanged(): boolean {
      const last = version;
      version = dataVersion.get();
      checkedAt = clock.monotonic();
      // The batch reads anew what others have changed.
      wasUnchanged = true;
      return version === last && totalChanges.get() === changes;
    },
    /**
     * As `isUnchanged`, at any time. A guess: another process may write right after, or has written within CHECK_MS, as
     * asking the database outside a transaction takes 8 us.
     */
    looksUnchanged(): boolean {
      if (totalChanges.get() !== changes) return false;
      const now = clock.monotonic();
      if (now - checkedAt > CHECK_MS) {
        checkedAt = now;
        wasUnchanged = dataVersion.get() === version;
      }
      return wasUnchanged;
    },
    /** Notes the writes of the running transaction as known. Call it at its end. */
    note() {
      changes = totalChanges.get();
    },
  };
}
