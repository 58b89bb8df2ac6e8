import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../json/object.ts';
import type { Paths } from '../paths.ts';

/** A new file, ready beside the file that it replaces. */
export interface Replacement {
  from: string;
  to: string;
}

/** Path of the commit marker. Once it exists, the replacements will be made, by the next gw if this one dies. */
export const markerOf = ({ home }: Pick<Paths, 'home'>): string => join(home, 'restore.json');

/** Commits the replacements and makes them. A crash before the commit makes none; a later one, all. */
export function replaceFiles(paths: Pick<Paths, 'home'>, replacements: readonly Replacement[]): void {
  const marker = markerOf(paths);
  writeFileSync(`${marker}.new`, JSON.stringify(replacements), { mode: 0o600, flush: true });
  renameSync(`${marker}.new`, marker);
  finishReplacing(paths);
}

/** Makes the committed replacements. Skips those already made. */
export function finishReplacing(paths: Pick<Paths, 'home'>): void {
  const marker = markerOf(paths);
  const replacements: unknown = JSON.parse(readFileSync(marker, 'utf8'));
  for (const each of Array.isArray(replacements) ? replacements : []) {
    if (isObject(each) && typeof each.from === 'string' && typeof each.to === 'string')
      replace({ from: each.from, to: each.to });
  }
  rmSync(marker);
}

/** Deletes the old write-ahead log first: it must not be replayed on another database. */
function replace({ from, to }: Replacement): void {
  if (!existsSync(from)) return;
  for (const log of [`${to}-wal`, `${to}-shm`]) rmSync(log, { force: true });
  renameSync(from, to);
}
