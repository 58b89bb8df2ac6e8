import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { CliError } from '../exit.ts';

/** What a shell answers for a command that is not there, or may not be run. */
const NOT_FOUND = 127;
const NOT_ALLOWED = 126;
const SIGNAL_BASE = 128;

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'] as const;

/**
 * Runs a command on this process's own streams, passes signals on to it, and returns its exit code
 * (128 and the signal's number if one ended it).
 */
export function runChild(
  [command = '', ...args]: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let child: ChildProcess | undefined;
    const forward = (signal: NodeJS.Signals) => {
      // The keys of a terminal reach the whole group of processes: the child has had this one.
      if (!(process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child?.kill(signal);
    };
    // Before the child is there: a signal between the two would end this process alone.
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
