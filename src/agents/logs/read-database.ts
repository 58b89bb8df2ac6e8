import type { LineReader } from './read-lines.ts';

/**
 * Reads each row of a query on a SQLite database as a line. SQLite may leave its `-shm` file and an empty `-wal` beside the
 * database, as the agents do.
 */
export function rowReader<Row>(query: string, lineOf: (row: Row) => string): LineReader {
  return async (path, { onLine, onBytes, isOver = () => false }) => {
    const { default: Database } = await import('better-sqlite3');
    const db = new Database(path, { readonly: true, fileMustExist: true });
    try {
      for (const row of db.prepare<[], Row>(query).iterate()) {
        if (isOver()) return false;
        const line = Buffer.from(lineOf(row));
        onLine(line);
        onBytes?.(line.length);
      }
      return true;
    } finally {
      db.close();
    }
  };
}
