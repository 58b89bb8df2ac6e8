import { homedir } from 'node:os';
import { type Clock, systemClock } from '../clock.ts';
import { type Paths, resolvePaths } from '../paths.ts';
import { pasteable, wrapMessage } from '../terminal/command-names.ts';
import { type Input, type Output, type Terminal, terminalOf } from '../terminal/terminal.ts';
import { safeJson } from '../terminal/text.ts';
import { invocationFrom } from './invocation.ts';

/** Everything a command may use besides its arguments. Tests pass their own. */
export interface Context {
  stdout: Output;
  stderr: Output;
  stdin: Input;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  paths: Paths;
  /** Path of the executable; also starts the daemon. */
  program: string;
  /** How to type `gw` in this directory, such as `./bin/gw`. */
  gw: string;
  version: string;
}

export function processContext({ program, version }: Pick<Context, 'program' | 'version'>): Context {
  const { env, stdout, stderr, stdin } = process;
  const gw = invocationFrom(process.cwd(), { env, program });
  return { stdout, stderr, stdin, env, clock: systemClock, paths: resolvePaths(env), program, gw, version };
}

/** The user's home directory. */
export const homeOf = ({ env }: Pick<Context, 'env'>): string => env.HOME || env.USERPROFILE || homedir();

export function screenOf({ stdout, env }: Context, options?: { ascii?: boolean | undefined }): Terminal {
  return terminalOf(stdout, env, options);
}

/** Writes a line of data to stdout. */
export function say(context: Context, text: string): void {
  context.stdout.write(`${text}\n`);
}

/** Writes text for people to stdout. Its commands are written so that they can be pasted. */
export function tell(context: Context, text: string): void {
  say(context, pasteable(text, context.gw));
}

/** Writes a message to stderr, where it never mixes with data. */
export function note(context: Context, text: string): void {
  context.stderr.write(`${message(context, text)}\n`);
}

/** Formats a message for stderr: commands can be pasted, and a terminal gets lines that fit it. */
export function message({ stderr, gw }: Context, text: string): string {
  const ready = pasteable(text, gw);
  return stderr.isTTY && stderr.columns ? wrapMessage(ready, stderr.columns, gw) : ready;
}

/** Writes the data of `--json` to stdout. */
export function sayJson(context: Context, value: unknown): void {
  say(context, safeJson(value, 2));
}
