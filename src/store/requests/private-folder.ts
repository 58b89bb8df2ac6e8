import { constants } from 'node:fs';
import { chmod, lstat, open, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { makeDirectory } from '../../paths.ts';

const MB = 1024 ** 2;
const MIN_FREE_BYTES = 256 * MB;

/** Whether the folder exists. Throws if it isn't a folder: a link could lead gw to write and delete elsewhere. */
export async function hasFolder(folder: string): Promise<boolean> {
  const stat = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stat && !stat.isDirectory()) throw new Error(`${folder} is not a folder of gw's. Remove it`);
  return stat !== undefined;
}

/** Reads a file; undefined if there is none. Throws at a link. */
export async function readNoLink(path: string): Promise<Buffer | undefined> {
  try {
    // Windows has no O_NOFOLLOW. Non-blocking, so that a pipe in the file's place can't hold gw up.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await open(path, flags);
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes the folder, or the existing one readable by its owner only. */
export async function makeFolder(folder: string): Promise<void> {
  if (!(await hasFolder(folder))) makeDirectory(folder);
  else if (((await stat(folder)).mode & 0o077) !== 0) await chmod(folder, 0o700);
}

/** The ledger needs the rest of the disk: without room for records, gw refuses requests. */
export async function checkSpace(folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < MIN_FREE_BYTES)
    throw new Error(`less than ${MIN_FREE_BYTES / MB} MB are free on the disk of ${folder}`);
}

/** Ends the name of a file that is being written. */
export const TEMPORARY = '.new';

/** Replaces a file at once. */
export async function replaceFile(file: string, bytes: Buffer): Promise<void> {
  const temporary = file + TEMPORARY;
  try {
    // `wx` follows no link.
    await writeFile(temporary, bytes, { mode: 0o600, flag: 'wx' });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
