import type { Command } from 'commander';
import { DEFAULT_PROJECT } from '../store/accounts/projects.ts';
import type { Context } from './context.ts';

/** Adds the arguments, options, help and action of a command. */
export type SetUp = (command: Command, context: Context) => void;

/** The same for a command that needs others: `programFor` builds the program with the command that the words name. */
export type SetUpAmongOthers = (
  command: Command,
  context: Context,
  programFor: (words: readonly string[]) => Promise<Command>,
) => void;

/** The options that a function adds to a command, with the types that commander infers. */
export type OptionsOf<Add extends (command: Command) => { opts(): unknown }> = ReturnType<
  ReturnType<Add>['opts']
>;

/** Options that many commands have, as arguments of `option`. */
export const AS_JSON = ['--json', 'print JSON'] as const;
export const IN_PROJECT = ['-p, --project <name>', 'project', DEFAULT_PROJECT] as const;
export const ONLY_PROJECT = ['-p, --project <name>', 'only this project'] as const;
export const UNASKED = ['--yes', 'do not ask on a terminal'] as const;

/** The heading in the help of the commands that start and stop gw. */
export const RUN = 'Run gw:';

/** An entry of the catalog, which is complete before the file of the command is loaded. */
export interface CommandEntry {
  name: string;
  aliases?: readonly string[];
  /** Its heading in the help. */
  group: string;
  about: string;
  /** The default subcommand. */
  bare?: string;
  hidden?: boolean;
  /** Listed by `gw help --all`, and not by `gw --help`, which has at most 45 lines. */
  rare?: boolean;
  /** `local`: manages this machine, and is refused if commands go to a remote gw. `any`: works the same either way. */
  reach?: 'local' | 'any';
  /** Subcommands of a `local` command that a remote gw answers all the same. */
  remote?: readonly string[];
  load(): Promise<SetUpAmongOthers>;
}
