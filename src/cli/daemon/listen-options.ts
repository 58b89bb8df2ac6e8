import type { Command } from 'commander';
import type { Flags } from '../settings.ts';

/** The settings that the commands which start the daemon take as flags. */
export interface ListenOptions {
  port?: string;
  host?: string;
}

export function addListenOptions(command: Command): Command {
  return command
    .option('--port <port>', 'port to listen on (default: 4747)')
    .option('--host <address>', 'address to listen on (default: localhost, for this machine only)');
}

/** The flags that were given, as settings. */
export function flagsOf({ port, host }: ListenOptions): Flags {
  return { ...(port === undefined ? {} : { port }), ...(host === undefined ? {} : { host }) };
}
