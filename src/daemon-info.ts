import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { orElse } from './errors.ts';
import { isObject } from './json/object.ts';
import type { Paths } from './paths.ts';
import { VERSION } from './version.ts';
import { writing } from './write-fault.ts';

/** The running daemon's `daemon.json`, which commands read. */
export interface DaemonInfo {
  /** Missing while the daemon waits for the one that it replaces. */
  instanceId: string;
  pid: number;
  port: number;
  host: string;
  tls: boolean;
  /** UTC milliseconds. */
  startedAt: number;
  version: string;
  /** The flags that the daemon was started with. */
  flags: Record<string, unknown>;
  /** Whether the platform's service manager runs the daemon. */
  service: boolean;
  /** The database file that it opened. */
  databaseFile: string;
  /** Why the daemon lost access to that file. */
  databaseLoss: string;
}

/**
 * Writes the address of this process's daemon, atomically. It may be stale: only a `/health` response with the same
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

/** The last daemon's info; empty if no daemon runs or the file can't be read. */
export function readDaemonInfo({ daemonInfo }: Pick<Paths, 'daemonInfo'>): Partial<DaemonInfo> {
  const info: unknown = orElse(() => JSON.parse(readFileSync(daemonInfo, 'utf8')), {});
  return isObject(info) ? info : {};
}

/**
 * Whether a process of any user runs. A zombie doesn't count: it exists until its parent reaps it, which the init
 * process of a container may never do.
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
  const stat = orElse(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '');
  // The process name before the state may contain parentheses.
  return stat.startsWith(') Z', stat.lastIndexOf(')'));
}
