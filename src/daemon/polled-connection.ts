import { type Db, openDatabase } from '../store/database/open.ts';

/**
 * A read-only connection for what clients poll, opened on first use: SQLite tells a connection only of the writes of
 * others, so the one that the daemon writes on can't tell whether there is anything new.
 */
export interface PolledConnection {
  open(): Promise<Db>;
  close(): Promise<void>;
}

export function createPolledConnection(path: string): PolledConnection {
  let opened: Promise<Db> | undefined;
  return {
    open() {
      opened ??= openDatabase(path, { readonly: true });
      return opened;
    },
    async close() {
      (await opened)?.close();
    },
  };
}
