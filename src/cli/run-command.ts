import { existsSync } from 'node:fs';
import { CommanderError } from 'commander';
import { finishReplacing, markerOf } from '../backup/replace-files.ts';
import { messageOf } from '../errors.ts';
import { isStorageFault } from '../store/database/write.ts';
import type { CommandEntry } from './command.ts';
import { type Context, note } from './context.ts';
import { CliError, EXIT, Exit, exitCodeOf } from './exit.ts';
import { missingSqlite } from './missing-sqlite.ts';
import { createProgram, entryFor } from './program.ts';

/** Arguments that print the short list of commands if they stand alone. */
const HELP: ReadonlySet<string> = new Set(['help', '--help', '-h']);

/**
 * Runs a command of the catalog, or `overview` without arguments, and returns the exit code. Errors show a stack trace
 * only with GW_DEBUG.
 */
export async function runCommand(
  args: readonly string[],
  context: Context,
  catalog: readonly CommandEntry[],
  overview?: () => Promise<void>,
): Promise<number> {
  try {
    await finishRestore(context);
    if (args.length === 0 && overview) {
      await overview();
      return EXIT.ok;
    }
    const entry = entryFor(args, catalog);
    const all = !(args.length === 1 && HELP.has(args[0] ?? ''));
    const program = await createProgram(context, catalog, entry ? [entry] : [], { all });
    if (args[0] === 'help' && args[1] === '--all') program.outputHelp();
    else
      await program.parseAsync(withDefaultSubcommand(withoutHelp(args, entry), entry?.bare), {
        from: 'user',
      });
    return EXIT.ok;
  } catch (error) {
    return report(error, context);
  }
}

/** Finishes a restore that was killed, before anything reads what it replaces. */
async function finishRestore({ paths }: Context): Promise<void> {
  if (!existsSync(markerOf(paths))) return;
  const { acquireLock } = await import('../store/database/lock.ts');
  const lock = acquireLock(paths.lock);
  if (!lock) throw new CliError(`gw restore is replacing files in ${paths.home}. Try again`);
  try {
    if (existsSync(markerOf(paths))) finishReplacing(paths);
  } finally {
    lock.release();
  }
}

/** Turns `help NAME` of an unknown command into `NAME`, which fails with the error for unknown commands. */
function withoutHelp(args: readonly string[], entry: CommandEntry | undefined): readonly string[] {
  const isUnknown = entry === undefined && args[0] === 'help' && args[1] !== undefined && args[1] !== 'help';
  return isUnknown ? args.slice(1) : args;
}

/** Completes `gw keys` and `gw keys --json` to `gw keys list`, but not `gw keys --help`. */
function withDefaultSubcommand(args: readonly string[], bare: string | undefined): readonly string[] {
  if (bare === undefined || args[0]?.startsWith('-') || args[0] === 'help') return args;
  const rest = args.slice(1);
  const hasSubcommand = rest[0] !== undefined && !rest[0].startsWith('-');
  if (hasSubcommand || rest.includes('--help') || rest.includes('-h')) return args;
  return [...args.slice(0, 1), bare, ...rest];
}

function report(error: unknown, context: Context): number {
  if (error instanceof CommanderError) {
    // Commander has printed the message already. Help and --version exit with 0.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (!(error instanceof Exit)) {
    const missing = missingSqlite(error, context);
    if (missing) note(context, `gw: ${missing.why}. Run: ${missing.mend}`);
    else note(context, `gw: ${messageOf(error)}${isStorageFault(error) ? '. Run: gw doctor' : ''}`);
    if (context.env.GW_DEBUG && error instanceof Error) note(context, error.stack ?? '');
  }
  return exitCodeOf(error);
}
