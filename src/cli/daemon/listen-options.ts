import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { OptionsOf } from '../command.ts';
import type { Flags } from '../settings.ts';

/** Flags of the commands that start the daemon. */
export type ListenOptions = OptionsOf<typeof addListenOptions>;

export function addListenOptions(command: Command) {
  return command
    .option('--port <port>', 'port to listen on (default: 4747)')
    .option('--host <address>', 'address to listen on (default: localhost, for this machine only)')
    .option('--tls-cert <file>', 'speak https with this certificate chain (PEM)')
    .option('--tls-key <file>', 'the private key of the certificate (PEM)')
    .option('--insecure-home', 'start although other users may write to the directory with keys and caps');
}

/** The flags as settings. */
export function flagsOf({ port, host, tlsCert, tlsKey }: ListenOptions): Flags {
  return {
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(tlsCert === undefined ? {} : { 'server.tls_cert': absolute(tlsCert) }),
    ...(tlsKey === undefined ? {} : { 'server.tls_key': absolute(tlsKey) }),
  };
}

/** The daemon runs in another directory. */
const absolute = (file: string): string => (file === '' ? '' : resolve(file));
