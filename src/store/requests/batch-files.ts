import type { Db } from '../database/open.ts';

/** A provider deletes such files after this time: https://platform.openai.com/docs/api-reference/files/create */
const KEPT_MS = 31 * 86_400_000;
/** Rows deleted in one step. */
const ROWS = 250;

export type BatchFiles = ReturnType<typeof createBatchFiles>;

interface BatchFilesOptions {
  db: Db;
  /** Runs a command in a write transaction. */
  write: (command: () => void) => Promise<void>;
  now: () => number;
}

/** What the requests in files for batches can use at most, as JSON, by provider and file. */
export function createBatchFiles({ db, write, now }: BatchFilesOptions) {
  const select = db
    .prepare<[string, string], string>('SELECT bound FROM batch_files WHERE provider = ? AND file_id = ?')
    .pluck();
  const insert = db.prepare<[string, string, string, number]>(
    'INSERT OR REPLACE INTO batch_files (provider, file_id, bound, created_at) VALUES (?, ?, ?, ?)',
  );
  return {
    find: (provider: string, fileId: string): string | undefined => select.get(provider, fileId),
    save: (provider: string, fileId: string, bound: string): Promise<void> =>
      write(() => void insert.run(provider, fileId, bound, Math.trunc(now()))),
  };
}

/** Deletes old rows, a few a call, within a write transaction. Returns whether there may be more. */
export function pruneBatchFiles(db: Db, now: number): boolean {
  const prune = db.prepare<[number]>(`DELETE FROM batch_files WHERE (provider, file_id) IN (
    SELECT provider, file_id FROM batch_files WHERE created_at < ? LIMIT ${ROWS})`);
  return prune.run(Math.trunc(now) - KEPT_MS).changes === ROWS;
}
