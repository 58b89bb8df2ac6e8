import { fileURLToPath } from 'node:url';
import { PACKAGE, VERSION } from '../version.ts';
import { type Context, processContext } from './context.ts';
import { EXIT } from './exit.ts';

/** Runs gw for this process's arguments, streams and environment, and sets its exit code. */
export async function runProcess(
  run: (args: readonly string[], context: Context) => Promise<number>,
): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader closed the pipe, as in `gw usage | head`.
    if (error.code === 'EPIPE') process.exit();
    process.stderr.write(`gw: cannot write the output: ${error.message}\n`);
    process.exit(EXIT.failure);
  });
  // The work is done even if the message cannot be written.
  process.stderr.on('error', () => {});
  const context = processContext({ program: fileURLToPath(new URL('bin/gw', PACKAGE)), version: VERSION });
  process.exitCode = await run(process.argv.slice(2), context);
}
