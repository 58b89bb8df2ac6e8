import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { createCalendar } from '../../../src/calendar.ts';
import { createUsageSums } from '../../../src/store/archive/usage-sums.ts';
import { registerDaemon } from '../../../src/store/database/daemons.ts';
import { acquireLock } from '../../../src/store/database/lock.ts';
import { migrate, schemaVersion } from '../../../src/store/database/migrate.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import type { Grouping } from '../../../src/store/reports/query.ts';
import { GROUPINGS } from '../../../src/store/reports/query.ts';
import { usageReport } from '../../../src/store/reports/usage-report.ts';
import { addProjects, temporaryDirectory } from '../../support/simulator.ts';
import { checkFile } from '../../support/simulator-check.ts';

const HOUR_MS = 3_600_000;
const newPath = () => join(temporaryDirectory(), 'state', 'gw.db');
const modeOf = (path: string) => statSync(path).mode & 0o777;
const dist = new URL('../../../dist/store/database/open.js', import.meta.url);

/** A change that SQLite can only make by building the table anew. */
const REBUILD = `CREATE TABLE new_projects (id integer PRIMARY KEY NOT NULL, name text NOT NULL, plan text, created_at integer);
--> statement-breakpoint
INSERT INTO new_projects SELECT id, name, plan, created_at FROM projects;
--> statement-breakpoint
DROP TABLE projects;
--> statement-breakpoint
ALTER TABLE new_projects RENAME TO projects;`;

/** This version's migrations and one more, as the next version would bring it. */
function folderWith(sql: string): string {
  const folder = join(temporaryDirectory(), 'migrations');
  cpSync(fileURLToPath(new URL('../../../src/store/migrations', import.meta.url)), folder, {
    recursive: true,
  });
  const journalPath = join(folder, 'meta', '_journal.json');
  const journal = JSON.parse(readFileSync(journalPath, 'utf8')) as { entries: object[] };
  const idx = journal.entries.length;
  journal.entries.push({ idx, version: '6', when: 4e12, tag: 'next', breakpoints: true });
  writeFileSync(journalPath, JSON.stringify(journal));
  writeFileSync(join(folder, 'next.sql'), sql);
  return folder;
}

/** The first migrations alone, as an earlier version had them. */
function folderOf(count: number): string {
  const folder = folderWith('');
  const journalPath = join(folder, 'meta', '_journal.json');
  const journal = JSON.parse(readFileSync(journalPath, 'utf8')) as { entries: object[] };
  writeFileSync(journalPath, JSON.stringify({ ...journal, entries: journal.entries.slice(0, count) }));
  return folder;
}

describe('openDatabase()', () => {
  test('makes a database that only its owner can read, in the current schema', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    expect(db.pragma('user_version', { simple: true })).toBe(schemaVersion());
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
    addProjects(db, 1);
    for (const file of [path, `${path}-wal`, `${path}-shm`, `${path}.migrate`])
      expect(modeOf(file), file).toBe(0o600);
    expect(modeOf(join(path, '..'))).toBe(0o700);
    checkFile(db);
  });

  test('opens a current database without migrating or backing up', async () => {
    const path = newPath();
    (await openDatabase(path)).close();
    const again = await openDatabase(path);
    addProjects(again, 1);
    expect(existsSync(`${path}.schema-${schemaVersion()}.bak`)).toBe(false);
  });

  test('reads without writing when it is asked to, and makes nothing', async () => {
    const path = newPath();
    await expect(openDatabase(path, { readonly: true })).rejects.toMatchObject({
      code: 'storage_unavailable',
    });
    expect(existsSync(path)).toBe(false);
    (await openDatabase(path)).close();
    const db = await openDatabase(path, { readonly: true });
    expect(() => addProjects(db, 1)).toThrow('readonly');
  });

  test('cuts the log back after a reader that kept it from being written back', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    const reader = await openDatabase(path, { readonly: true });
    const logSize = () => statSync(`${path}-wal`).size;
    reader.exec('BEGIN; SELECT * FROM meta');
    db.exec('CREATE TABLE large (content)');
    const insert = db.prepare('INSERT INTO large VALUES (zeroblob(1000000))');
    for (let i = 0; i < 80; i++) insert.run();
    expect(logSize()).toBeGreaterThan(80e6);
    reader.exec('COMMIT');
    // The first commit writes the log back, the second begins it anew.
    for (let i = 0; i < 2; i++) insert.run();
    expect(logSize()).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(db.prepare('SELECT count(*) FROM large').pluck().get()).toBe(82);
  });

  test('refuses the database of a newer gw and leaves it as it is', async () => {
    const path = newPath();
    const newer = await openDatabase(path);
    newer.pragma(`user_version = ${schemaVersion() + 1}`);
    newer.close();
    await expect(openDatabase(path)).rejects.toMatchObject({
      status: 503,
      code: 'storage_too_new',
      message: expect.stringContaining('Update gw, or point GW_HOME elsewhere'),
    });
    const raw = new Database(path, { readonly: true });
    expect(raw.pragma('user_version', { simple: true })).toBe(schemaVersion() + 1);
  });

  test('says which file is no database', async () => {
    const path = join(temporaryDirectory(), 'gw.db');
    writeFileSync(path, 'text'.repeat(1_000));
    await expect(openDatabase(path)).rejects.toThrow(
      `cannot open the database ${path}: file is not a database`,
    );
  });
});

describe('a migration', () => {
  test('backs the database up beside itself, for its owner alone, and keeps the children of a rebuilt table', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    addProjects(db, 1);
    db.exec("INSERT INTO keys (project_id, hash, hint, admin, created_at) VALUES (1, x'00', 'abcd', 0, 0)");
    const old = schemaVersion();
    await migrate(db, path, { folder: folderWith(REBUILD) });
    expect(db.pragma('user_version', { simple: true })).toBe(old + 1);
    expect(db.prepare('SELECT count(*) FROM keys').pluck().get()).toBe(1);
    expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
    checkFile(db);
    const backup = `${path}.schema-${old}.bak`;
    expect(modeOf(backup)).toBe(0o600);
    const kept = new Database(backup, { readonly: true });
    expect(kept.pragma('user_version', { simple: true })).toBe(old);
    expect(kept.prepare('SELECT hint FROM keys').pluck().all()).toEqual(['abcd']);
  });

  test('from before the sums of usage changes no report, neither at once nor when they are made', async () => {
    const path = newPath();
    (await openDatabase(path)).close();
    rmSync(path);
    const old = new Database(path);
    await migrate(old, path, { folder: folderOf(2) });
    addProjects(old, 2);
    const insert = old.prepare(
      `INSERT INTO usage_hours VALUES (?, ?, 0, 0, 1, 0, 0, 0, 10, 0, 0, 5, 0, 0, 7, 0)`,
    );
    for (let hour = 0; hour < 200; hour++) insert.run(hour * HOUR_MS, 1 + (hour % 2));
    // The start of a day in Kolkata, as the version before cut its buckets there.
    insert.run(18.5 * HOUR_MS, 1);
    old.close();
    const db = await openDatabase(path);
    const calendar = createCalendar('Asia/Kolkata');
    const report = (groupBy: Grouping) =>
      usageReport(db, calendar, { from: '1970-01-01', to: '1970-01-09', groupBy });
    const before = await Promise.all(GROUPINGS.map(report));
    expect(before[0]?.total.requests).toBe(201);
    expect(before[0]?.rows[1]).toMatchObject({ key: '1970-01-02', requests: 25 });
    const sums = createUsageSums(db);
    while (sums.sumNextHour(1_000 * HOUR_MS));
    expect(await Promise.all(GROUPINGS.map(report))).toEqual(before);
  });

  test('waits for the end of a daemon that writes to the tables it knows', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    const lockPath = `${path}.lock`;
    const lock = acquireLock(lockPath);
    registerDaemon(db, { instanceId: 'gw_old', pid: 4747, lockPath, startedAt: 0 });
    const folder = folderWith(REBUILD);
    await expect(migrate(db, path, { folder })).rejects.toMatchObject({
      code: 'storage_in_use',
      message: expect.stringMatching(/an older gw \(pid 4747\) runs on .* gw restart$/),
    });
    expect(db.pragma('user_version', { simple: true })).toBe(schemaVersion());
    await expect(migrate(db, path, { folder, lockPath: `${path}.other` })).rejects.toThrow('pid 4747');
    lock?.release();
    await migrate(db, path, { folder });
    expect(db.pragma('user_version', { simple: true })).toBe(schemaVersion() + 1);
  });

  test('that fails leaves the database as it was', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    addProjects(db, 1);
    const folder = folderWith('CREATE TABLE half (x);\n--> statement-breakpoint\nSELECT nonsense;');
    await expect(migrate(db, path, { folder })).rejects.toThrow();
    expect(db.pragma('user_version', { simple: true })).toBe(schemaVersion());
    expect(db.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'half'").pluck().get()).toBe(0);
    expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
    checkFile(db);
  });

  test('that was cut off before its version was written is completed by the next start', async () => {
    const path = newPath();
    const db = await openDatabase(path);
    addProjects(db, 3);
    db.pragma('user_version = 0');
    db.close();
    const again = await openDatabase(path);
    expect(again.pragma('user_version', { simple: true })).toBe(schemaVersion());
    expect(again.prepare('SELECT count(*) FROM projects').pluck().get()).toBe(3);
    checkFile(again);
  });

  test('is done once by processes that start at the same time', async () => {
    const path = newPath();
    const script = `
      import { openDatabase } from ${JSON.stringify(dist.href)};
      const db = await openDatabase(${JSON.stringify(path)});
      console.log(db.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get());`;
    const run = promisify(execFile);
    const starts = Array.from({ length: 6 }, () =>
      run(process.execPath, ['--input-type=module', '-e', script]),
    );
    const outputs = await Promise.all(starts);
    expect(outputs.map(({ stdout }) => stdout.trim())).toEqual(
      Array.from({ length: 6 }, () => String(schemaVersion())),
    );
    checkFile(await openDatabase(path));
  }, 30_000);
});
