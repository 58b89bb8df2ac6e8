import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type GwError, messageOf, orElse, unavailable } from './errors.ts';
import { shellQuoted } from './shell-quoted.ts';

/** Why a file access failed, and how to fix it. */
export interface Reason {
  why: string;
  mend?: string;
}

const FULL: Reason = { why: 'its disk is full', mend: 'Free some space, and try again' };

/** Runs `write`. Throws GwError `storage_unavailable` with the path, the reason and the fix. */
export function writing<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw writeFault(path, error);
  }
}

/** The error to throw when writing `path` failed. */
export function writeFault(path: string, cause: unknown): GwError {
  const { why, mend } = reasonOf(path, cause);
  const remedy = mend === undefined ? '' : `. ${mend}`;
  return unavailable(`cannot write ${path}: ${why}${remedy}`, 'storage_unavailable', cause);
}

/** Why writing or reading `path` failed, from the error codes of errno(3) and SQLite. */
export function reasonOf(path: string, error: unknown, action: 'write' | 'read' = 'write'): Reason {
  const folder = dirname(path);
  const code = error instanceof Error ? String((error as { code?: unknown }).code) : '';
  // SQLite reports a full disk as an I/O error when it can't grow its shared memory.
  if (code.startsWith('SQLITE_IOERR') && isFull(folder)) return FULL;
  switch (code) {
    case 'ENOSPC':
    case 'SQLITE_FULL':
      return FULL;
    case 'EDQUOT':
      return { ...FULL, why: 'your quota of its disk is used up' };
    case 'EFBIG':
      return { why: 'it would be larger than a file may be here', mend: 'See: ulimit -f' };
    case 'EROFS':
      return { why: 'its disk is mounted read-only', mend: 'Mount it for writing, and try again' };
    case 'EACCES':
    case 'EPERM':
      return action === 'read'
        ? { why: 'you may not read it', mend: `See who may: ls -l ${shellQuoted(path)}` }
        : { why: 'you may not write there', mend: `See who may: ls -ld ${shellQuoted(folder)}` };
    case 'EISDIR':
      return { why: 'it is a folder', mend: 'Move it away, or name a file' };
    case 'ENOENT':
      return { why: `there is no folder ${folder}`, mend: `To make it: mkdir -p ${shellQuoted(folder)}` };
    case 'ENOTDIR':
      return { why: `${folder} is no folder` };
    default:
      return { why: messageOf(error) };
  }
}

/** SQLite's files grow in larger steps than this, so a disk with less free space is full. */
const NO_ROOM_BYTES = 64 * 1024;

function isFull(folder: string): boolean {
  const stat = orElse(() => statfsSync(folder), undefined);
  return stat !== undefined && stat.bavail * stat.bsize < NO_ROOM_BYTES;
}
