import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { makeDirectory } from '../../paths.ts';
import { writeFault, writing } from '../../write-fault.ts';

/** Another process changed the file between read and write. Read it again. */
export class FileChanged extends Error {
  override readonly name = 'FileChanged';
}

/** Reads a file; undefined if it doesn't exist. */
export function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

interface Replacement {
  /** The bytes read earlier; undefined if the file didn't exist. */
  expected: Buffer | undefined;
  /** Undefined removes the file. */
  bytes: Buffer | undefined;
}

/**
 * Replaces a file atomically: a crash leaves the old or the new bytes. Keeps symbolic links, mode and owner. Throws
 * FileChanged if the current bytes aren't the expected ones.
 */
export function replaceFile(path: string, { expected, bytes }: Replacement): void {
  const target = targetOf(path);
  if (bytes === undefined) {
    requireSame(target, expected);
    writing(path, () => rmSync(target, { force: true }));
    return;
  }
  removeLeftovers(target);
  const temporary = join(dirname(target), `.${basename(target)}.gw-${process.pid}`);
  try {
    writing(path, () => writeBeside(temporary, bytes, statOf(target)));
    requireSame(target, expected);
    writing(path, () => renameSync(temporary, target));
    syncFolder(dirname(target));
  } finally {
    rmSync(temporary, { force: true });
  }

  function writeBeside(file: string, content: Buffer, former: Stats | undefined): void {
    // A rename would replace even a read-only file.
    if (former) accessSync(target, constants.W_OK);
    const fd = openSync(file, 'wx', 0o600);
    try {
      writeFileSync(fd, content);
      if (former) keepOwner(fd, former);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}

/** Creates the folder of a file. Returns the created folders, innermost first. */
export function makeFolderOf(path: string): string[] {
  const made: string[] = [];
  for (let folder = dirname(targetOf(path)); !existsSync(folder); folder = dirname(folder)) made.push(folder);
  const [innermost] = made;
  if (innermost !== undefined) writing(innermost, () => makeDirectory(innermost));
  return made;
}

/** Removes empty folders in order, up to the first that isn't empty. */
export function removeEmptyFolders(folders: readonly string[]): void {
  for (const folder of folders) {
    try {
      rmdirSync(folder);
    } catch (error) {
      if (isMissing(error)) continue;
      if (['ENOTEMPTY', 'EEXIST', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
      throw writeFault(folder, error);
    }
  }
}

function keepOwner(fd: number, { mode, uid, gid }: Stats): void {
  // Owner before mode: a change of owner clears some mode bits.
  const isOwn = uid === process.getuid?.() && gid === process.getgid?.();
  if (process.getuid && !isOwn) fchownSync(fd, uid, gid);
  fchmodSync(fd, mode & 0o7777);
}

function requireSame(target: string, expected: Buffer | undefined): void {
  const current = readBytes(target);
  const isSame = expected === undefined ? current === undefined : current?.equals(expected);
  if (!isSame) throw new FileChanged(`${target} was changed by another program`);
}

/** Target of a chain of symbolic links, which may not exist. */
function targetOf(path: string): string {
  let target = path;
  for (let links = 0; links < 40 && isLink(target); links++) {
    target = resolve(dirname(target), readlinkSync(target));
  }
  return target;
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });

/** Removes temporary files that a killed process left beside the target. */
function removeLeftovers(target: string): void {
  const prefix = `.${basename(target)}.gw-`;
  for (const name of readdirSync(dirname(target))) {
    const pid = Number(name.startsWith(prefix) ? name.slice(prefix.length) : Number.NaN);
    if (Number.isInteger(pid) && !isRunning(pid)) rmSync(join(dirname(target), name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return pid !== process.pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Makes a rename durable, on systems that can open a folder. */
function syncFolder(folder: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(folder, 'r');
    fsyncSync(fd);
  } catch {
    // Best effort: the rename has succeeded.
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
