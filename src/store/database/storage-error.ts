import { GwError, messageOf } from '../../errors.ts';

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
