import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/store/open.ts';

/** An empty database of the current schema, made once: to migrate one takes ten times as long as to copy it. */
let migrated: Buffer | undefined;

/** Puts an empty database where there is none; the migrations have tests of their own. */
export async function layDatabase(path: string): Promise<void> {
  if (existsSync(path)) return;
  migrated ??= await migrate();
  writeFileSync(path, migrated, { mode: 0o600 });
}

async function migrate(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-migrated-'));
  const path = join(folder, 'gw.db');
  try {
    (await openDatabase(path)).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
