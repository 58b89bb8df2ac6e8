import { isIPv4 } from 'node:net';

/** A TCP connection as the one who accepted it sees it. */
export interface Connection {
  localAddress: string;
  localPort: number;
  remoteAddress: string;
  remotePort: number;
}

/** Finds the processes at the other end of connections, in their order; undefined for one that it can't find. */
export type FindCallers = (connections: readonly Connection[]) => (Caller | undefined)[];

/** A process as the system describes it. */
export interface Caller {
  args: string[];
  /** Its working directory. */
  directory: string;
}

/** Whether the other end is on this machine. */
export function isLocal({ localAddress, remoteAddress }: Connection): boolean {
  const remote = plainAddress(remoteAddress);
  return remote === '::1' || (isIPv4(remote) && remote.startsWith('127.')) || remoteAddress === localAddress;
}

/** An IPv4 address that came in on an IPv6 socket, as what it is. */
export function plainAddress(address: string): string {
  const mapped = address.replace(/^::ffff:/i, '');
  return isIPv4(mapped) ? mapped : address;
}
