import { randomInt } from 'node:crypto';
import { fstatSync, openSync, readSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { GwError } from '../../errors.ts';
import type { Db } from './open.ts';

/** Notices that the files of an open database are no longer the ones at its path. */
export type FileWatch = ReturnType<typeof createFileWatch>;

export interface FileWatchOptions {
  db: Db;
  path: string;
  /** Called once, with what happened to which file. */
  onLost: (found: string) => void;
}

/** Device and inode of a file, as text: JSON numbers can't hold every inode. */
export type FileIdentity = string;

const CHECK_EVERY_MS = 250;
const FILES = ['', '-wal', '-shm'] as const;

/** Makes the database differ from all earlier copies of it. Daemons that share it use one stamp. */
export function stampDatabase(db: Db): void {
  db.pragma(`application_id = ${randomInt(1, 2 ** 31 - 1)}`);
}

/**
 * Watches a database in WAL mode that has been written to, so that all three files exist. SQLite itself keeps writing
 * to files that were moved, deleted or replaced; everything written there is lost.
 *
 * The descriptors that it reads by are never closed, as closing one releases this process's POSIX locks on the file.
 */
export function createFileWatch({ db, path, onLost }: FileWatchOptions) {
  // The stamp must be in the file itself, not only in the log.
  db.pragma('wal_checkpoint(PASSIVE)');
  const identities = FILES.map((suffix) => identityOf(path + suffix));
  const readStamp = db.prepare<[], number>('PRAGMA application_id').pluck();
  const stamp = readStamp.get() ?? 0;
  const checkHeader = createHeaderCheck(path, stamp);
  const checkLog = createLogCheck(db, path);
  let fault: GwError | undefined;

  /** Event text, which follows the name of the file in a message. */
  function findFault(): string | undefined {
    for (const [i, suffix] of FILES.entries()) {
      const current = identityOf(path + suffix);
      if (current === undefined) return `${suffix} was moved or deleted`;
      if (current !== '' && current !== identities[i]) return `${suffix} was replaced`;
    }
    if (!checkHeader() || readStamp.get() !== stamp) return ' was overwritten';
    return checkLog() ? undefined : '-wal was overwritten';
  }

  function check(): void {
    const found = findFault();
    if (found === undefined) return;
    clearInterval(timer);
    fault = lostDatabase(basename(path) + found);
    onLost(basename(path) + found);
  }

  // Files change in real time, whatever clock is injected.
  const timer = setInterval(check, CHECK_EVERY_MS).unref();
  return {
    /** Undefined while the database is the one that was opened. Once set, it stays set until a restart. */
    fault: (): GwError | undefined => fault,
    /** For `isSameFile`. */
    identity: identities[0] ?? '',
    close: () => clearInterval(timer),
  };
}

/** Whether the file at `path` is the one that a daemon opened. */
export const isSameFile = (path: string, identity: FileIdentity): boolean => identityOf(path) === identity;

/**
 * The error for requests and commands after the database was lost. `found` says what happened to which file, without its
 * path: callers without a key may read it.
 */
export function lostDatabase(found: string): GwError {
  return new GwError(
    `${found} while gw was running, and nothing is forwarded that gw cannot account for. Run gw stop, put the database back with its -wal and -shm files, then run: gw start`,
    { status: 503, type: 'api_error', code: 'storage_unavailable', recorded: true },
  );
}

/** Undefined if the file is gone. A file that can't be looked at, such as on a busy network disk, counts as unchanged. */
function identityOf(path: string): FileIdentity | undefined {
  try {
    const stat = statSync(path, { bigint: true });
    return `${stat.dev}:${stat.ino}`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESTALE' ? undefined : '';
  }
}

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** Offsets in the header: https://www.sqlite.org/fileformat2.html#the_database_header */
const CHANGE_COUNTER = 24;
const APPLICATION_ID = 68;

/**
 * Returns a check that the header is the one that SQLite wrote last. Its change counter only rises, and it has the
 * stamp from the first checkpoint on.
 */
function createHeaderCheck(path: string, stamp: number): () => boolean {
  const descriptor = openSync(path, 'r');
  const header = Buffer.alloc(HEADER_BYTES);
  let lastCounter = 0;
  let isStamped = false;
  const check = () => {
    if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return false;
    if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) return false;
    const counter = header.readUInt32BE(CHANGE_COUNTER);
    const hasStamp = header.readInt32BE(APPLICATION_ID) === stamp;
    if (counter < lastCounter || (isStamped && !hasStamp)) return false;
    lastCounter = counter;
    isStamped = hasStamp;
    return true;
  };
  check();
  return check;
}

/** In the log's header: https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const LOG_SALTS = [16, 24] as const;
const FRAME_HEADER_BYTES = 24;
const LOG_HEADER_BYTES = 32;
/** In the index of the log: https://www.sqlite.org/walformat.html#the_wal_index_header */
const LAST_FRAME = 16;
const INDEX_SALTS = [32, 40] as const;
const INDEX_BYTES = 48;

/**
 * Returns a check that the log is the one that its index describes: it has the same salts, and all frames. Two checks in
 * a row have to fail, as another process may restart the log between the two reads.
 */
function createLogCheck(db: Db, path: string): () => boolean {
  const frameBytes = FRAME_HEADER_BYTES + Number(db.pragma('page_size', { simple: true }));
  const logDescriptor = openSync(`${path}-wal`, 'r');
  const indexDescriptor = openSync(`${path}-shm`, 'r');
  const log = Buffer.alloc(LOG_HEADER_BYTES);
  const index = Buffer.alloc(INDEX_BYTES);
  // In the byte order of the machine.
  const indexNumbers = new Uint32Array(index.buffer, index.byteOffset, INDEX_BYTES / 4);

  function isWhole(): boolean {
    readSync(indexDescriptor, index, 0, INDEX_BYTES, 0);
    const frames = indexNumbers[LAST_FRAME / 4] ?? 0;
    if (frames === 0) return true;
    log.fill(0);
    readSync(logDescriptor, log, 0, LOG_HEADER_BYTES, 0);
    return (
      log.subarray(...LOG_SALTS).equals(index.subarray(...INDEX_SALTS)) &&
      fstatSync(logDescriptor).size >= LOG_HEADER_BYTES + frames * frameBytes
    );
  }

  let wasWhole = true;
  return () => {
    const whole = isWhole();
    const passes = whole || wasWhole;
    wasWhole = whole;
    return passes;
  };
}
