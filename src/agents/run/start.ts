import type { Makers } from './makers.ts';

/** What an agent is started with, before gw points it at itself. Tests pass their own files. */
export interface Start {
  /** The agent's own arguments, as the user typed them. */
  args: readonly string[];
  env: Environment;
  cwd: string;
  /** The user's home directory. */
  home: string;
  platform: NodeJS.Platform;
  /** gw's URL, without a trailing slash or `/v1`. */
  origin: string;
  /** The gw key of this run. */
  key: string;
  /** The agent keeps its own login, and gw's key goes out beside it. */
  subscription: boolean;
  /** Whose models end at their maker's own API. */
  ownApis: Makers;
  /** A folder for this run's files, removed when it ends. */
  folder: string;
  files: Files;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The part of the file system that agents keep their settings in. */
export interface Files {
  /** The text of a file; undefined if it can't be read. */
  read(path: string): string | undefined;
  /** The names in a folder; empty if there is none. */
  list(path: string): readonly string[];
}

/** How the agent is started instead, so that its model requests go to gw. */
export interface Pointing {
  args: readonly string[];
  /** Variables to set beside those for any program; undefined removes one. */
  env: Environment;
  /** Files to write, by their names in the run's folder. */
  files?: Readonly<Record<string, string>>;
  /** Symbolic links to make, by their names in the run's folder. */
  links?: Readonly<Record<string, string>>;
  /** What the user should know, such as settings of theirs that don't apply in this run. */
  notes?: readonly string[];
  /** Why requests of this run would go around gw all the same. */
  bypass?: Bypass;
}

export interface Bypass {
  reason: string;
  /** What to do about it. */
  remedy: string;
}
