import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../json/object.ts';
import type { Paths } from '../paths.ts';

/** A file that is ready beside the one that it replaces. */
export interface Replacement {
  from: string;
  to: string;
}

/** From its existence on, the replacements are made, by whichever gw comes next if this one dies. */
export const markerOf = ({ home }: Pick<Paths, 'home'>): string => join(home, 'restore.json');

/** Decides on the replacements and makes them: all or, after a crash before that, none. */
export function replaceFiles(paths: Pick<Paths, 'home'>, replacements: readonly Replacement[]): void {
  const marker = markerOf(paths);
  writeFileSync(`${marker}.new`, JSON.stringify(replacements), { mode: 0o600, flush: true });
  renameSync(`${marker}.new`, marker);
  finishReplacing(paths);
}

/** Makes the replacements that were decided on. Does nothing for those that are made already. */
export function finishReplacing(paths: Pick<Paths, 'home'>): void {
  const marker = markerOf(paths);
  const replacements: unknown = JSON.parse(readFileSync(marker, 'utf8'));
  for (const each of Array.isArray(replacements) ? replacements : []) {
    if (isObject(each) && typeof each.from === 'string' && typeof each.to === 'string')
      replace({ from: each.from, to: each.to });
  }
  rmSync(marker);
}

/** A write-ahead log belongs to the database that it was written for, and must not be replayed on another. */
function replace({ from, to }: Replacement): void {
  if (!existsSync(from)) return;
  for (const log of [`${to}-wal`, `${to}-shm`]) rmSync(log, { force: true });
  renameSync(from, to);
}
