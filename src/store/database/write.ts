import type { Db } from './open.ts';
import { isStorageFault, storageUnavailable } from './storage-error.ts';

/**
 * Runs `body` in an immediate transaction; a deferred one would fail when another process writes first.
 * Throws GwError `storage_unavailable` when the disk is full or another process keeps the lock.
 */
export function inTransaction<T>(db: Db, body: () => T): T {
  const nested = db.inTransaction;
  try {
    return db.transaction(body).immediate();
  } catch (error) {
    // The owner of the outer transaction gets the fault as it is.
    throw !nested && isStorageFault(error) ? storageUnavailable(error) : error;
  }
}

/** As `inTransaction`, for rows that running daemons cache: they reload them before their next request. */
export function changeConfiguration<T>(db: Db, body: () => T): T {
  return inTransaction(db, () => {
    const result = body();
    bumpConfigurationEpoch(db);
    return result;
  });
}

/** Makes running daemons reload settings, keys, projects, budgets and prices. */
export function bumpConfigurationEpoch(db: Db): void {
  db.prepare("UPDATE meta SET value = value + 1 WHERE key = 'configuration_epoch'").run();
}

/** Checks whether another process has changed the configuration; cheap enough for each request. */
export function createConfigurationWatch(db: Db): { changed(): boolean } {
  const dataVersion = db.prepare('PRAGMA data_version').pluck();
  const epoch = db.prepare("SELECT value FROM meta WHERE key = 'configuration_epoch'").pluck();
  let lastVersion: unknown;
  let lastEpoch = epoch.get();
  return {
    changed() {
      const version = dataVersion.get();
      if (version === lastVersion) return false;
      lastVersion = version;
      const current = epoch.get();
      if (current === lastEpoch) return false;
      lastEpoch = current;
      return true;
    },
  };
}
