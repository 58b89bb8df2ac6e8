import { GwError, messageOf } from '../../errors.ts';
import type { Db } from './open.ts';

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

function sqliteCode(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

export const isSqlite = (error: unknown): boolean => sqliteCode(error) !== '';
export const isBusy = (error: unknown): boolean => sqliteCode(error).startsWith('SQLITE_BUSY');

/** Whether the file or the disk is at fault, so that the next write would fail too. */
export function isStorageFault(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN|PERM)/.test(sqliteCode(error));
}

export function storageUnavailable(cause: unknown): GwError {
  return new GwError(
    `gw cannot write its database (${messageOf(cause)}), and nothing is forwarded that it cannot account for. Run: gw doctor`,
    { status: 503, type: 'api_error', code: 'storage_unavailable', cause, recorded: true },
  );
}
