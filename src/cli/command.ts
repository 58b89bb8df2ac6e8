import type { Command } from 'commander';
import type { Context } from './context.ts';

/** Adds a command's arguments, options, help and action. */
export type SetUp = (command: Command, context: Context) => void;

/** A command as the program knows it before its file is loaded. */
export interface CommandEntry {
  name: string;
  aliases?: readonly string[];
  /** The heading under which the help lists it. */
  group: string;
  about: string;
  /** The subcommand that runs when none is named. */
  bare?: string;
  hidden?: boolean;
  load(): Promise<SetUp>;
}
