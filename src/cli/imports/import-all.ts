import type { Context } from '../context.ts';
import { type ImportRow, importSource } from './import-source.ts';
import { createProgress } from './progress.ts';
import { sourcesOf } from './sources.ts';

/** Imports the logs that the words name, or those of all agents. Shows its progress on a terminal. */
export async function importAll(context: Context, words: readonly string[]): Promise<ImportRow[]> {
  const progress = createProgress(context);
  const rows: ImportRow[] = [];
  try {
    for (const source of await sourcesOf(words)) {
      const row = await importSource(context, source, progress);
      // Of the agents that nobody named, those that are not used here.
      if (row && (words.length > 0 || row.files > 0)) rows.push(row);
    }
  } finally {
    progress.end();
  }
  return rows;
}
