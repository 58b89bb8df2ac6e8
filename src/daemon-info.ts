import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isObject } from './json/object.ts';
import type { Paths } from './paths.ts';
import { VERSION } from './version.ts';
import { writing } from './write-fault.ts';

/** What a daemon writes of itself for commands, in `daemon.json`. */
export interface DaemonInfo {
  /** Missing while it waits for the daemon that it replaces. */
  instanceId: string;
  pid: number;
  port: number;
  host: string;
  tls: boolean;
  /** UTC milliseconds. */
  startedAt: number;
  version: string;
  /** The flags it was started with. */
  flags: Record<string, unknown>;
  /** Whether the platform's service manager runs it. */
  service: boolean;
  /** The database file that it opened. */
  databaseFile: string;
  /** How it lost that file. */
  databaseLoss: string;
}

/**
 * Writes the address of this process's daemon, atomically. It may be out of date: only a `/health` with the same
 * instance id proves that the daemon runs.
 */
export function writeDaemonInfo(
  { daemonInfo }: Paths,
  info: Omit<Partial<DaemonInfo>, 'pid' | 'version'>,
): void {
  const { instanceId, port, host, tls, startedAt, flags, service, databaseFile, databaseLoss } = info;
  const address = { instanceId, pid: process.pid, port, host, tls, startedAt, version: VERSION };
  const text = JSON.stringify({ ...address, flags, service, databaseFile, databaseLoss });
  const temporary = `${daemonInfo}.new`;
  writing(daemonInfo, () => {
    writeFileSync(temporary, `${text}\n`, { mode: 0o600 });
    renameSync(temporary, daemonInfo);
  });
}

/** What the last daemon wrote; empty if none runs, or the file cannot be read. */
export function readDaemonInfo({ daemonInfo }: Pick<Paths, 'daemonInfo'>): Partial<DaemonInfo> {
  try {
    const info: unknown = JSON.parse(readFileSync(daemonInfo, 'utf8'));
    return isObject(info) ? info : {};
  } catch {
    return {};
  }
}

/**
 * Whether a process runs, including those of other users. One that has ended does not, though it exists until its parent
 * collects it, which the first process of a container may never do.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before the state may hold parentheses too.
    return stat.startsWith(') Z', stat.lastIndexOf(')'));
  } catch {
    return false;
  }
}
