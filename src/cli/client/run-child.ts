import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { CliError } from '../exit.ts';

/** Exit codes of a shell for a command that does not exist or cannot be executed. */
const NOT_FOUND = 127;
const NOT_ALLOWED = 126;
const SIGNAL_BASE = 128;

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'] as const;

/**
 * Runs a command on the streams of this process and forwards signals to it. Returns its exit code, or 128 plus the
 * number of the signal that ended it.
 */
export function runChild(
  [command = '', ...args]: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let child: ChildProcess | undefined;
    const forward = (signal: NodeJS.Signals) => {
      // A terminal sends Ctrl-C to the whole process group, so the child already has it.
      if (!(process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child?.kill(signal);
    };
    // Before the spawn: a signal in between would end only this process.
    for (const signal of FORWARDED) process.on(signal, forward);
    const done = (settle: () => void) => {
      for (const signal of FORWARDED) process.off(signal, forward);
      settle();
    };
    child = spawn(command, args, { stdio: 'inherit', env });
    child.on('error', (error: NodeJS.ErrnoException) => done(() => reject(startFailure(command, error))));
    child.on('exit', (code, signal) =>
      done(() => resolve(signal === null ? (code ?? 1) : SIGNAL_BASE + constants.signals[signal])),
    );
  });
}

function startFailure(command: string, error: NodeJS.ErrnoException): CliError {
  if (error.code === 'ENOENT') return new CliError(`command not found: ${command}`, NOT_FOUND);
  return new CliError(`cannot run "${command}": ${error.message}`, NOT_ALLOWED);
}
