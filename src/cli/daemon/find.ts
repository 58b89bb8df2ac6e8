import { readFileSync } from 'node:fs';
import { isObject } from '../../json/object.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { readSettings } from '../settings.ts';
import { httpGet } from './http.ts';
import type { ListenOptions } from './listen-options.ts';

/** What `GET /health` says. */
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
  /** What clients are given, without a slash at the end; paths such as `/v1` follow. */
  origin: string;
}

export type DaemonState =
  | { kind: 'running'; daemon: Daemon }
  /** It lives and holds its lock, and does not answer: starting, stopping or stuck. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };

interface DaemonInfo {
  instanceId?: string;
  pid?: number;
  port?: number;
  host?: string;
  flags?: { port?: unknown; host?: unknown };
}

/** The flags that the daemon was started with, which a restart goes on with; none where it was stopped. */
export function daemonFlags({ paths }: Context): ListenOptions {
  const { port, host } = readInfo(paths.daemonInfo).flags ?? {};
  return {
    ...(typeof port === 'string' ? { port } : {}),
    ...(typeof host === 'string' ? { host } : {}),
  };
}

/**
 * Looks for this home's daemon. The truth is what answers on its port: the file that it left says where to ask,
 * and where there is none, the configured port is asked.
 */
export async function findDaemon(context: Context): Promise<DaemonState> {
  const info = readInfo(context.paths.daemonInfo);
  const { host, port } = readSettings(context).settings;
  const told = { host: info.host ?? host, port: info.port ?? 0 };
  for (const place of told.port === port ? [told] : [told, { host, port }]) {
    const health = place.port === 0 ? undefined : await askHealth(place.host, place.port);
    if (health && (health.instance_id === info.instanceId || health.home === context.paths.home)) {
      return { kind: 'running', daemon: { ...health, origin: originOf(place.host, health.port) } };
    }
  }
  if (info.pid !== undefined && isAlive(info.pid) && (await isLocked(context.paths.lock))) {
    return { kind: 'silent', pid: info.pid };
  }
  return { kind: 'stopped' };
}

/** The running daemon; throws with exit code 3 where there is none. */
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

/** Asks a port for gw's health; undefined if nobody answers, or somebody else. */
export async function askHealth(host: string, port: number): Promise<Health | undefined> {
  try {
    const { status, body } = await httpGet(`http://${reachable(host)}:${port}/health`, { timeoutMs: 1_500 });
    return status === 200 && isHealth(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** Where clients on this machine find a daemon that listens on `host`. */
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

/** Whether a process lives; one of another user does. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether a daemon holds the lock. Looking takes it for an instant: not for a daemon that may be about to start. */
export async function isLocked(path: string): Promise<boolean> {
  const { acquireLock } = await import('../../store/database/lock.ts');
  const lock = acquireLock(path);
  lock?.release();
  return lock === undefined;
}
