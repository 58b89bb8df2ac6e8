import type { Command } from 'commander';
import type { Flags } from '../settings.ts';

/** Flags of the commands that start the daemon. */
export interface ListenOptions {
  port?: string;
  host?: string;
}

export function addListenOptions(command: Command): Command {
  return command
    .option('--port <port>', 'port to listen on (default: 4747)')
    .option('--host <address>', 'address to listen on (default: localhost, for this machine only)');
}

/** The flags as settings. */
export function flagsOf({ port, host }: ListenOptions): Flags {
  return { ...(port === undefined ? {} : { port }), ...(host === undefined ? {} : { host }) };
}
