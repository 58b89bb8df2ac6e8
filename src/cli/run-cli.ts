import { CATALOG } from './catalog.ts';
import type { Context } from './context.ts';
import { runCommand } from './run-command.ts';

/** Runs a command line and returns the exit code; without arguments, it shows the status and the commands to go on with. */
export function runCli(args: readonly string[], context: Context): Promise<number> {
  return runCommand(args, context, CATALOG, async () => {
    const { overview } = await import('./commands/status.ts');
    await overview(context);
  });
}
