import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Files, Pointing } from '../../agents/run/start.ts';
import { makeDirectory } from '../../paths.ts';
import { acquireLock } from '../../store/database/lock.ts';
import { writing } from '../../write-fault.ts';

/** A folder for the files of one run, and a lock that says whether the run is alive. */
export interface RunFolder {
  path: string;
  /** Locked while the run lives. */
  lockPath: string;
  write(pointing: Pick<Pointing, 'files' | 'links'>): void;
  /** Writes a script that can be started. */
  writeProgram(name: string, text: string): void;
  remove(): void;
}

/** Creates the folder (0700) in gw's state directory. Removes those of runs that were killed. */
export function openRunFolder(home: string, runId: string, now: number): RunFolder {
  const runs = join(home, 'runs');
  makeDirectory(runs);
  for (const name of readdirSync(runs)) removeIfDead(join(runs, name), now);
  const path = join(runs, runId);
  makeDirectory(path);
  const lockPath = join(path, 'lock');
  const lock = acquireLock(lockPath);
  return {
    path,
    lockPath,
    write({ files = {}, links = {} }) {
      for (const [name, text] of Object.entries(files)) writeIn(path, name, { text, mode: 0o600 });
      for (const [name, target] of Object.entries(links)) symlinkSync(target, join(path, name));
    },
    writeProgram: (name, text) => writeIn(path, name, { text, mode: 0o700 }),
    remove() {
      lock?.release();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function writeIn(folder: string, name: string, { text, mode }: { text: string; mode: number }): void {
  const file = join(folder, name);
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode });
  });
}

/** A new folder is about to be locked. */
const MIN_AGE_MS = 60_000;

function removeIfDead(path: string, now: number): void {
  try {
    if (now - statSync(path).mtimeMs < MIN_AGE_MS) return;
    const lock = acquireLock(join(path, 'lock'));
    lock?.release();
    if (lock) rmSync(path, { recursive: true, force: true });
  } catch {
    // Another run has just removed it.
  }
}

/** The file system that agents keep their settings in. */
export const realFiles: Files = {
  read(path) {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return undefined;
    }
  },
  list(path) {
    try {
      return readdirSync(path);
    } catch {
      return [];
    }
  },
};
