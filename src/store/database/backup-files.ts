import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openDatabase } from './open.ts';

/** A file inside a backup. With `cost` 0 its content is plain, else sealed (backup/contents.ts). */
export interface BackupFile {
  name: string;
  content: Buffer;
  cost: number;
  salt: Buffer;
  iv: Buffer;
  tag: Buffer;
}

const TABLE = `CREATE TABLE backup_files (name text PRIMARY KEY NOT NULL, content blob NOT NULL, cost integer NOT NULL,
  salt blob NOT NULL, iv blob NOT NULL, tag blob NOT NULL) STRICT`;

/** Adds files to the copy of a database, which stays a single file. */
export function addBackupFiles(path: string, files: readonly BackupFile[]): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.pragma('journal_mode = DELETE');
    db.transaction(() => {
      // A database that was restored by hand from a backup still has the table.
      db.exec('DROP TABLE IF EXISTS backup_files');
      db.exec(TABLE);
      const insert = db.prepare('INSERT INTO backup_files VALUES (@name, @content, @cost, @salt, @iv, @tag)');
      for (const file of files) insert.run(file);
    })();
  } finally {
    db.close();
  }
}

/** Reads a backup; undefined if the database is not one of gw's. */
export function readBackup(path: string) {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const has = (table: string) =>
      db.prepare('SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ?').get('table', table) !== undefined;
    if (!has('projects') || !has('budget_periods')) return undefined;
    const files = has('backup_files')
      ? db.prepare<[], BackupFile>('SELECT * FROM backup_files ORDER BY name').all()
      : [];
    const projects = db.prepare('SELECT count(*) FROM projects WHERE removed_at IS NULL').pluck().get();
    return { files, projects: Number(projects) };
  } finally {
    db.close();
  }
}

/** Makes the copy of a backup ready to be used: in the current schema, without its files, a single file. */
export async function prepareRestored(path: string): Promise<void> {
  forgetDaemons(path);
  const db = await openDatabase(path);
  try {
    db.exec('DROP TABLE IF EXISTS backup_files');
    db.pragma('wal_checkpoint(TRUNCATE)');
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
  removeBeside(path);
}

/** The daemons that ran when the backup was made don't run on its copy. Their holds are closed at the next start. */
function forgetDaemons(path: string): void {
  const db = new Database(path, { fileMustExist: true });
  try {
    db.prepare('DELETE FROM daemons').run();
  } finally {
    db.close();
  }
}

/** Removes the files that opening and migrating a database leaves beside it. */
export function removeBeside(path: string): void {
  const schemas = Array.from({ length: 100 }, (_, schema) => `.schema-${schema}.bak`);
  for (const suffix of ['-wal', '-shm', '-journal', '.migrate', ...schemas])
    rmSync(`${path}${suffix}`, { force: true });
}
