import { join } from 'node:path';
import type { Pointing, Start } from './start.ts';

interface OwnFolder {
  /** The user's folder, and what replaces it in the run's. */
  own: string;
  replacement: string;
  /** Names that the run has of its own. */
  replaced: readonly string[];
  /** The folder's name for sessions, which the agent makes at its first start. */
  sessions: string;
}

/** Links to all of the user's folder but what a run replaces, so that sessions stay when it ends. */
export function linkFolder(
  { files }: Pick<Start, 'files'>,
  { own, replacement, replaced, sessions }: OwnFolder,
): Pick<Pointing, 'links' | 'sessions'> {
  const names = [...files.list(own), sessions].filter((name) => !replaced.includes(name));
  return {
    links: Object.fromEntries(names.map((name) => [`${replacement}/${name}`, join(own, name)])),
    sessions: join(own, sessions),
  };
}
