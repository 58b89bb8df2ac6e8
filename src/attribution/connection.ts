import { isIPv4 } from 'node:net';

/** A TCP connection, from the point of view of the side that accepted it. */
export interface Connection {
  localAddress: string;
  localPort: number;
  remoteAddress: string;
  remotePort: number;
}

/** Finds the process at the other end of each connection, in order; undefined for those it can't find. */
export type FindCallers = (connections: readonly Connection[]) => (Caller | undefined)[];

/** A process as the operating system describes it. */
export interface Caller {
  args: string[];
  /** The working directory. */
  directory: string;
}

/** Whether the other end is on this machine. */
export function isLocal({ localAddress, remoteAddress }: Connection): boolean {
  const remote = plainAddress(remoteAddress);
  return remote === '::1' || (isIPv4(remote) && remote.startsWith('127.')) || remoteAddress === localAddress;
}

/** Unwraps an IPv4-mapped IPv6 address. */
export function plainAddress(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '');
  return isIPv4(mapped) ? mapped : address;
}
