import { CommanderError } from 'commander';
import { messageOf } from '../errors.ts';
import { isStorageFault } from '../store/database/storage-error.ts';
import type { CommandEntry } from './command.ts';
import { type Context, note } from './context.ts';
import { EXIT, Exit, exitCodeOf } from './exit.ts';
import { createProgram, entryFor } from './program.ts';

/** Runs a command line to its end and returns the exit code. Nothing that goes wrong shows a stack, but for GW_DEBUG. */
export async function runCli(args: readonly string[], context: Context): Promise<number> {
  try {
    if (args.length === 0) {
      const { overview } = await import('./commands/status.ts');
      await overview(context);
      return EXIT.ok;
    }
    const entry = entryFor(args);
    const program = await createProgram(context, entry ? [entry] : []);
    await program.parseAsync(withBareCommand(known(args, entry), entry?.bare), { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, context);
  }
}

/** Help on what is no command says so, as the command itself would. */
function known(args: readonly string[], entry: CommandEntry | undefined): readonly string[] {
  const isLost = entry === undefined && args[0] === 'help' && args[1] !== undefined && args[1] !== 'help';
  return isLost ? args.slice(1) : args;
}

/** `gw keys` and `gw keys --json` are `gw keys list`; `gw keys --help` is not. */
function withBareCommand(args: readonly string[], bare: string | undefined): readonly string[] {
  if (bare === undefined || args[0]?.startsWith('-') || args[0] === 'help') return args;
  const rest = args.slice(1);
  const named = rest[0] !== undefined && !rest[0].startsWith('-');
  if (named || rest.includes('--help') || rest.includes('-h')) return args;
  return [...args.slice(0, 1), bare, ...rest];
}

function report(error: unknown, context: Context): number {
  if (error instanceof CommanderError) {
    // Commander has said what there is to say; asking for help or the version is no failure.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (!(error instanceof Exit)) {
    note(context, `gw: ${messageOf(error)}${isStorageFault(error) ? '. Run: gw doctor' : ''}`);
    if (context.env.GW_DEBUG && error instanceof Error) note(context, error.stack ?? '');
  }
  return exitCodeOf(error);
}
