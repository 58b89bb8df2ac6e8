import { readFileSync } from 'node:fs';
import { isObject } from '../../json/object.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { readSettings } from '../settings.ts';
import { httpGet } from './http.ts';
import type { ListenOptions } from './listen-options.ts';

/** The body of `GET /health`. */
export interface Health {
  version: string;
  instance_id: string;
  pid: number;
  port: number;
  started_at: string;
  home: string;
}

/** A daemon that answers. */
export interface Daemon extends Health {
  /** The URL for clients, without a trailing slash or `/v1`. */
  origin: string;
}

export type DaemonState =
  | { kind: 'running'; daemon: Daemon }
  /** The process holds the lock but does not answer: it is starting, stopping or stuck. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };

interface DaemonInfo {
  instanceId?: string;
  pid?: number;
  port?: number;
  host?: string;
  flags?: { port?: unknown; host?: unknown };
}

/** The flags that the running daemon was started with, for a restart. Empty when it was stopped. */
export function daemonFlags({ paths }: Context): ListenOptions {
  const { port, host } = readInfo(paths.daemonInfo).flags ?? {};
  return {
    ...(typeof port === 'string' ? { port } : {}),
    ...(typeof host === 'string' ? { host } : {}),
  };
}

/**
 * Finds the daemon of this state directory by asking its port, because daemon.json may be left over from a crash. The
 * file says which port to ask; without it, the configured port is asked.
 */
export async function findDaemon(context: Context): Promise<DaemonState> {
  const info = readInfo(context.paths.daemonInfo);
  const { host, port } = readSettings(context).settings;
  const recorded = { host: info.host ?? host, port: info.port ?? 0 };
  for (const address of recorded.port === port ? [recorded] : [recorded, { host, port }]) {
    const health = address.port === 0 ? undefined : await fetchHealth(address.host, address.port);
    if (health && (health.instance_id === info.instanceId || health.home === context.paths.home)) {
      return { kind: 'running', daemon: { ...health, origin: originOf(address.host, health.port) } };
    }
  }
  if (info.pid !== undefined && isAlive(info.pid) && (await isLocked(context.paths.lock))) {
    return { kind: 'silent', pid: info.pid };
  }
  return { kind: 'stopped' };
}

/** The running daemon. Throws with exit code 3 if there is none. */
export async function requireDaemon(context: Context): Promise<Daemon> {
  const state = await findDaemon(context);
  if (state.kind === 'running') return state.daemon;
  throw new CliError(
    state.kind === 'silent'
      ? `gw (pid ${state.pid}) does not answer yet. See: gw logs`
      : 'gw is not running. Run: gw start',
    EXIT.daemonDown,
  );
}

/** Fetches `GET /health` from a port; undefined unless a gw answers. */
export async function fetchHealth(host: string, port: number): Promise<Health | undefined> {
  try {
    const { status, body } = await httpGet(`http://${reachable(host)}:${port}/health`, { timeoutMs: 1_500 });
    return status === 200 && isHealth(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** URL at which clients on this machine reach a daemon that listens on `host`. */
export function originOf(host: string, port: number): string {
  const address = reachable(host);
  return `http://${address === '127.0.0.1' ? 'localhost' : address}:${port}`;
}

function reachable(host: string): string {
  if (['localhost', '127.0.0.1', '0.0.0.0', '::', '::1', '*', ''].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function isHealth(body: unknown): body is Health {
  if (!isObject(body)) return false;
  const { instance_id, pid, port, home } = body;
  return (
    typeof instance_id === 'string' &&
    typeof pid === 'number' &&
    typeof port === 'number' &&
    typeof home === 'string'
  );
}

function readInfo(file: string): DaemonInfo {
  try {
    const info: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isObject(info) ? info : {};
  } catch {
    return {};
  }
}

/** Whether a process exists, including those of other users. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a daemon holds the lock. The check takes the lock for a moment, so do not call it while one may be starting. */
export async function isLocked(path: string): Promise<boolean> {
  const { acquireLock } = await import('../../store/database/lock.ts');
  const lock = acquireLock(path);
  lock?.release();
  return lock === undefined;
}
