import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { GwError } from '../../errors.ts';
import { FILES } from '../../version.ts';
import { isLockFree } from './lock.ts';

const FOLDER = fileURLToPath(new URL('store/migrations', FILES));

interface Journal {
  entries: { idx: number; tag: string }[];
}

interface MigrateOptions {
  /** Where the migrations are. */
  folder?: string;
  /** The daemon's lock, if the caller holds it. */
  lockPath?: string;
}

/**
 * Brings the database to this version's schema. `user_version` counts the migrations applied, so a database that
 * is current costs one pragma and does not load drizzle. A non-empty database is first backed up beside itself;
 * a newer one is refused with GwError `storage_too_new`, and one that a daemon uses with `storage_in_use`: the daemon
 * writes to the tables that it knows.
 */
export async function migrate(
  db: Database.Database,
  path: string,
  { folder = FOLDER, lockPath }: MigrateOptions = {},
): Promise<void> {
  const target = schemaVersion(folder);
  if (versionOf(db) === target) return;
  refuseNewer(versionOf(db), target, path);
  const lock = lockMigrations(path);
  try {
    const current = versionOf(db);
    if (current === target) return;
    refuseNewer(current, target, path);
    if (current > 0) {
      refuseUsed(db, path, lockPath);
      backUp(db, `${path}.schema-${current}.bak`);
    }
    await apply(db, folder, target);
  } finally {
    lock.close();
  }
}

function refuseNewer(current: number, wanted: number, path: string): void {
  if (current <= wanted) return;
  throw new GwError(
    `the database ${path} was written by a newer gw (schema ${current}, this gw knows ${wanted}). Update gw, or point GW_HOME elsewhere`,
    { status: 503, type: 'api_error', code: 'storage_too_new' },
  );
}

function refuseUsed(db: Database.Database, path: string, lockPath: string | undefined): void {
  const daemons = db
    .prepare<[], { pid: number; lock: string }>('SELECT pid, lock_path AS lock FROM daemons')
    .all();
  const user = daemons.find(({ lock }) => lock !== lockPath && !isLockFree(lock));
  if (!user) return;
  throw new GwError(
    `an older gw (pid ${user.pid}) runs on the database ${path}, which this version has to convert first. To let this version take over: gw restart`,
    { status: 503, type: 'api_error', code: 'storage_in_use' },
  );
}

/** The number of migrations of this version. */
export function schemaVersion(folder = FOLDER): number {
  const journal = JSON.parse(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8')) as Journal;
  return journal.entries.length;
}

const versionOf = (db: Database.Database): number => Number(db.pragma('user_version', { simple: true }));

async function apply(db: Database.Database, folder: string, wanted: number): Promise<void> {
  const [{ drizzle }, { migrate: run }] = await Promise.all([
    import('drizzle-orm/better-sqlite3'),
    import('drizzle-orm/better-sqlite3/migrator'),
  ]);
  // The pragma has no effect inside the migrator's transaction. With it on, rebuilding a table deletes its children.
  db.pragma('foreign_keys = OFF');
  try {
    run(drizzle(db), { migrationsFolder: folder });
    const broken = db.pragma('foreign_key_check') as unknown[];
    if (broken.length > 0) throw new Error(`migration left ${broken.length} broken references`);
    db.pragma(`user_version = ${wanted}`);
  } finally {
    db.pragma('foreign_keys = ON');
  }
}

/** Processes that start at the same time migrate one after the other. */
function lockMigrations(path: string): Database.Database {
  if (path === ':memory:') return new Database(':memory:');
  const file = `${path}.migrate`;
  if (!existsSync(file)) makePrivate(file);
  const lock = new Database(file, { timeout: 60_000 });
  lock.exec('BEGIN EXCLUSIVE');
  return lock;
}

function backUp(db: Database.Database, target: string): void {
  rmSync(target, { force: true });
  makePrivate(target);
  db.prepare('VACUUM INTO ?').run(target);
}

/** Makes an empty file that only its owner can read, for SQLite to fill. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
}
