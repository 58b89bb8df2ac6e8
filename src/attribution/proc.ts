import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import { orElse } from '../errors.ts';
import type { Caller, Connection, FindCallers } from './connection.ts';

const MAX_RECENT = 16;

/** Finds callers in Linux's /proc: https://docs.kernel.org/filesystems/proc.html */
export function createProcFinder(root = '/proc'): FindCallers {
  /** Recent callers tend to call again. Checking them first usually avoids a scan of all processes. */
  let recent: string[] = [];
  return (connections) => {
    const sockets = socketsOf(root, connections);
    const owners = ownersOf(root, new Set(sockets.filter((socket) => socket !== '')), recent);
    recent = [...new Set([...owners.values(), ...recent])].slice(0, MAX_RECENT);
    const callers = new Map([...new Set(owners.values())].map((pid) => [pid, describe(root, pid)]));
    return sockets.map((socket) => callers.get(owners.get(socket) ?? ''));
  };
}

/** The link target of each caller's socket descriptor, such as `socket:[1234]`; empty if not found. */
function socketsOf(root: string, connections: readonly Connection[]): string[] {
  const sockets = connections.map(() => '');
  // The kernel takes some milliseconds to list either table, however short. The second is seldom needed.
  for (const name of ['tcp', 'tcp6']) {
    if (!sockets.includes('')) break;
    const table = contentOf(join(root, 'net', name));
    for (const [i, connection] of connections.entries()) sockets[i] ||= socketIn(table, connection);
  }
  return sockets;
}

function socketIn(table: string, connection: Connection): string {
  const { localAddress, localPort, remoteAddress, remotePort } = connection;
  for (const hex of [hexV4, hexV6]) {
    // In the caller's row, local and remote address are swapped.
    const ends = ` ${hex(remoteAddress)}:${hexPort(remotePort)} ${hex(localAddress)}:${hexPort(localPort)} `;
    const at = table.indexOf(ends);
    const [inode = '0'] =
      at < 0
        ? []
        : table
            .slice(at, at + MAX_ROW)
            .trim()
            .split(/\s+/, 9)
            .slice(8);
    if (inode !== '0') return `socket:[${inode}]`;
  }
  return '';
}

/** Upper bound of a row's length, counted from its addresses. */
const MAX_ROW = 400;

/** Process id of each socket's owner, by the link target of its descriptor. */
function ownersOf(root: string, wanted: Set<string>, recent: readonly string[]): Map<string, string> {
  const owners = new Map<string, string>();
  for (const pid of pidsOf(root, recent)) {
    if (owners.size === wanted.size) break;
    for (const link of linksOf(join(root, pid, 'fd'))) if (wanted.has(link)) owners.set(link, pid);
  }
  return owners;
}

/** Recent callers first, then the newest processes: most callers have just started. */
function* pidsOf(root: string, recent: readonly string[]): Generator<string> {
  yield* recent;
  const all = entriesOf(root).filter((name) => /^\d+$/.test(name));
  yield* all.sort((a, b) => Number(b) - Number(a)).filter((pid) => !recent.includes(pid));
}

function describe(root: string, pid: string): Caller {
  const args = contentOf(join(root, pid, 'cmdline'))
    .split('\0')
    .filter((arg) => arg !== '');
  const name = contentOf(join(root, pid, 'comm')).trim();
  const directory = linkOf(join(root, pid, 'cwd')).replace(/ \(deleted\)$/, '');
  return { args: args.length > 0 ? args : [name], directory };
}

// A process may have ended or belong to another user; its files are then unreadable.
const contentOf = (file: string): string => orElse(() => readFileSync(file, 'utf8'), '');
const entriesOf = (directory: string): string[] => orElse(() => readdirSync(directory), []);
const linkOf = (path: string): string => orElse(() => readlinkSync(path), '');

function linksOf(directory: string): string[] {
  return entriesOf(directory).map((name) => linkOf(join(directory, name)));
}

const hexPort = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');

/** An address in the format of /proc/net/tcp: 32-bit words in host byte order. */
const hexV4 = (address: string): string => hexWords(withoutZone(address));

function hexV6(address: string): string {
  const plain = withoutZone(address);
  return hexWords(plain.kind() === 'ipv4' ? (plain as IPv4).toIPv4MappedAddress() : plain);
}

const withoutZone = (address: string): IPv4 | IPv6 => ipaddr.process(address.split('%', 1)[0] ?? '');

function hexWords(address: IPv4 | IPv6): string {
  const bytes = address.toByteArray().map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'));
  return bytes.map((_, at) => bytes[at ^ 3]).join('');
}
