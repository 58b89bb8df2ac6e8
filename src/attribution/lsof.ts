import { execFileSync, type StdioOptions } from 'node:child_process';
import { isIPv6 } from 'node:net';
import { orElse } from '../errors.ts';
import { remembered } from '../json/grouped.ts';
import { type Caller, type Connection, type FindCallers, plainAddress } from './connection.ts';

/** Runs a program and returns its output; empty if it fails. */
export type Run = (program: string, args: readonly string[]) => string;

/** Finds callers with lsof and ps, which macOS includes. */
export function createLsofFinder(run: Run = runProgram): FindCallers {
  return (connections) => {
    const ports = [...new Set(connections.map(({ localPort }) => localPort))];
    const owners = ownersFrom(run('lsof', ['-nP', `-iTCP:${ports.join(',')}`, '-sTCP:ESTABLISHED', '-Fpn']));
    const callers = new Map<string, Caller>();
    return connections.map((connection) => {
      const pid = owners.get(endsOf(connection));
      if (pid === undefined) return undefined;
      return remembered(callers, pid, () => describe(run, pid));
    });
  };
}

/** The caller's socket in lsof's notation: `127.0.0.1:52001->127.0.0.1:4747`. */
function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Connection): string {
  return `${host(remoteAddress)}:${remotePort}->${host(localAddress)}:${localPort}`;
}

function host(address: string): string {
  const plain = plainAddress(address);
  return isIPv6(plain) ? `[${plain}]` : plain;
}

/** Parses lsof's field output: a `p` line with a process id, then an `n` line per socket with its name. */
function ownersFrom(output: string): Map<string, string> {
  const owners = new Map<string, string>();
  let pid = '';
  for (const line of output.split('\n')) {
    if (line.startsWith('p')) pid = line.slice(1);
    else if (line.startsWith('n')) owners.set(line.slice(1), pid);
  }
  return owners;
}

function describe(run: Run, pid: string): Caller {
  const directory = /^n(.*)$/m.exec(run('lsof', ['-a', '-p', pid, '-d', 'cwd', '-Fn']))?.[1] ?? '';
  return { args: run('ps', ['-o', 'command=', '-p', pid]).trim().split(' '), directory };
}

const TIMEOUT_MS = 2_000;

function runProgram(program: string, args: readonly string[]): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  return orElse(() => execFileSync(program, args, { encoding: 'utf8', timeout: TIMEOUT_MS, stdio }), '');
}
