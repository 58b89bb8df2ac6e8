import type { Makers } from './makers.ts';

/** The way to gw, and the machine that the agent runs on. Tests pass their own files. */
export interface Access {
  env: Environment;
  home: string;
  platform: NodeJS.Platform;
  /** gw's URL, without a trailing slash or `/v1`. */
  origin: string;
  /** The gw key of this run or agent. */
  key: string;
  /** The agent keeps its own login and sends gw's key beside it. */
  subscription: boolean;
  /** Makers whose models gw sends to the maker's own API. */
  ownApis: Makers;
  files: Files;
}

/** The user's command, before gw points the agent at itself. */
export interface Start extends Access {
  /** The agent's arguments as the user typed them. */
  args: readonly string[];
  cwd: string;
  /** A folder for this run's files, removed when it ends. */
  folder: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Access to the files with agents' settings. */
export interface Files {
  /** The text of a file; undefined if it can't be read. */
  read(path: string): string | undefined;
  /** Names in a folder; empty if it doesn't exist. */
  list(path: string): readonly string[];
}

/** Arguments, variables and files with which the agent sends its model requests to gw. */
export interface Pointing {
  args: readonly string[];
  /** Variables to set beside those for all programs; undefined removes one. */
  env: Environment;
  /** Contents of files to write, by name in the run's folder. */
  files?: Readonly<Record<string, string>>;
  /** Targets of symbolic links to create, by name in the run's folder. */
  links?: Readonly<Record<string, string>>;
  /** A folder among those targets to create if it is missing. */
  sessions?: string;
  /** Notes for the user, such as settings that don't apply in this run. */
  notes?: readonly string[];
  /** Set if requests of this run would bypass gw nevertheless. */
  bypass?: Bypass;
}

export interface Bypass {
  reason: string;
  remedy: string;
}
