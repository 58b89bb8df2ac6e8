import { type Clock, systemClock } from '../clock.ts';
import { type Paths, resolvePaths } from '../paths.ts';
import { pasteable } from '../terminal/pasteable.ts';
import type { Input, Output } from '../terminal/streams.ts';
import { wrapMessage } from '../terminal/wrap-message.ts';
import { invocationFrom } from './invocation.ts';

/** All that a command may touch besides its arguments; tests pass their own. */
export interface Context {
  stdout: Output;
  stderr: Output;
  stdin: Input;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  paths: Paths;
  /** The file that starts gw, for starting the daemon. */
  program: string;
  /** What to type for it here. */
  gw: string;
  version: string;
}

export interface Identity {
  program: string;
  version: string;
}

/** The context of this process. */
export function processContext({ program, version }: Identity): Context {
  const { env, stdout, stderr, stdin } = process;
  const gw = invocationFrom(process.cwd(), { env, program });
  return { stdout, stderr, stdin, env, clock: systemClock, paths: resolvePaths(env), program, gw, version };
}

/** Writes a line of data. */
export function say(context: Context, text: string): void {
  context.stdout.write(`${text}\n`);
}

/** Writes what people read and programs do not: commands in it can be pasted. */
export function tell(context: Context, text: string): void {
  say(context, pasteable(text, context.gw));
}

/** Writes a line for the person who runs the command: it never mixes with data. */
export function note(context: Context, text: string): void {
  context.stderr.write(`${message(context, text)}\n`);
}

/** A text for people on stderr: commands in it can be pasted, and on a terminal no word is cut. */
export function message({ stderr, gw }: Context, text: string): string {
  const ready = pasteable(text, gw);
  return stderr.isTTY && stderr.columns ? wrapMessage(ready, stderr.columns, gw) : ready;
}

/** Writes a value as JSON: the data of `--json`. */
export function sayJson(context: Context, value: unknown): void {
  say(context, JSON.stringify(value, null, 2));
}
