import { isIPv4 } from 'node:net';

/** A TCP connection from the accepting side's view. */
export interface Connection {
  localAddress: string;
  localPort: number;
  remoteAddress: string;
  remotePort: number;
}

/** Finds the peer process of each connection, in order; undefined for those not found. */
export type FindCallers = (connections: readonly Connection[]) => (Caller | undefined)[];

/** A process, as described by the operating system. */
export interface Caller {
  args: string[];
  /** The working directory. */
  directory: string;
}

/** Whether the peer is on this machine. */
export function isLocal({ localAddress, remoteAddress }: Connection): boolean {
  const remote = plainAddress(remoteAddress);
  return remote === '::1' || (isIPv4(remote) && remote.startsWith('127.')) || remoteAddress === localAddress;
}

/** Unwraps an IPv4-mapped IPv6 address. */
export function plainAddress(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '');
  return isIPv4(mapped) ? mapped : address;
}
