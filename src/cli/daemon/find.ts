import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { isScalarKey, type Settings } from '../../config/settings.ts';
import { speaksTls } from '../../config/tls.ts';
import { type DaemonInfo, isAlive, readDaemonInfo } from '../../daemon-info.ts';
import { isObject } from '../../json/object.ts';
import type { Paths } from '../../paths.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { type Flags, readSettings } from '../settings.ts';
import { askLocal } from './http.ts';

/** The part of `GET /health` that needs no key. */
interface Health {
  version: string;
  instance_id: string;
}

/** A daemon that answers. */
export interface Daemon extends Health {
  pid: number;
  port: number;
  started_at: string;
  /** The URL for clients, without a trailing slash or `/v1`. */
  origin: string;
  /** The URL for requests from this machine, to which no certificate need apply. */
  local: string;
}

export type DaemonState =
  | { kind: 'running'; daemon: Daemon }
  /** The process holds the lock, or waits for it at its port, but does not answer: it is starting, stopping or stuck. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };

/** Where a daemon listens. */
interface Address {
  host: string;
  port: number;
  tls: boolean;
}

/** The flags that the running daemon was started with, for a restart. Empty when it was stopped. */
export function daemonFlags({ paths }: Context): Flags {
  const flags = Object.entries(readDaemonInfo(paths).flags ?? {});
  return Object.fromEntries(flags.filter(([key, value]) => isScalarKey(key) && typeof value === 'string'));
}

/**
 * Finds the daemon of this state directory by asking its port, because daemon.json may be left over from a crash. The
 * file says which port to ask; without it, the configured port is asked.
 */
export async function findDaemon(context: Context): Promise<DaemonState> {
  const info = readDaemonInfo(context.paths);
  const { settings } = readSettings(context);
  const configured = addressOf(settings);
  const recorded = { ...configured, port: 0, ...info };
  for (const address of recorded.port === configured.port ? [recorded] : [recorded, configured]) {
    const health = address.port === 0 ? undefined : await fetchHealth(address);
    if (health === 'starting') {
      // A successor holds the port before its predecessor has released the lock, and the lock is free in between.
      if (address === recorded && info.pid !== undefined && isAlive(info.pid))
        return { kind: 'silent', pid: info.pid };
      continue;
    }
    const process = health && (await processOf(context, health, info));
    if (process) {
      const { host, port, tls } = address;
      const origin = originOf({ host, port, tls }, settings);
      const local = `${tls ? 'https' : 'http'}://${reachable(host)}:${port}`;
      return { kind: 'running', daemon: { ...health, ...process, port, origin, local } };
    }
  }
  if (info.pid !== undefined && isAlive(info.pid) && (await isLocked(context.paths.lock)))
    return { kind: 'silent', pid: info.pid };
  return { kind: 'stopped' };
}

/** The process of this state directory that answers as `health`: by its file, else by its row in the database. */
async function processOf(
  { paths }: Context,
  { instance_id }: Health,
  { instanceId, pid, startedAt }: Partial<DaemonInfo>,
): Promise<Pick<Daemon, 'pid' | 'started_at'> | undefined> {
  if (instance_id === instanceId && pid !== undefined && startedAt !== undefined)
    return { pid, started_at: new Date(startedAt).toISOString() };
  if (!existsSync(paths.database)) return undefined;
  const { openDatabase } = await import('../../store/database/open.ts');
  const { findDaemonRow } = await import('../../store/database/daemons.ts');
  const db = await openDatabase(paths.database, { readonly: true });
  try {
    const row = findDaemonRow(db, instance_id);
    if (row?.lockPath !== paths.lock) return undefined;
    return { pid: row.pid, started_at: new Date(row.startedAt).toISOString() };
  } finally {
    db.close();
  }
}

/** URL at which clients on this machine reach gw, or will when it is started. */
export async function expectedOrigin(context: Context): Promise<string> {
  const state = await findDaemon(context);
  if (state.kind === 'running') return state.daemon.origin;
  const { settings } = readSettings(context);
  return originOf(addressOf(settings), settings);
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

/** Fetches `GET /health` from an address; undefined unless a gw answers, `starting` if it does not serve yet. */
export async function fetchHealth({ host, port, tls }: Address): Promise<Health | 'starting' | undefined> {
  const url = `${tls ? 'https' : 'http'}://${reachable(host)}:${port}/health`;
  try {
    const { status, body } = await askLocal(url, { timeoutMs: 1_500 });
    if (status === 503 && isObject(body) && body.status === 'starting') return 'starting';
    // A gw that has lost its database answers with 503.
    return (status === 200 || status === 503) && isHealth(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** Where a daemon with these settings listens. */
export function addressOf(settings: Settings): Address {
  return { host: settings.host, port: settings.port, tls: speaksTls(settings) };
}

/** URL at which clients on this machine reach a daemon. A certificate is usually for a name that gw is served under. */
export function originOf({ host, port, tls }: Address, settings: Settings): string {
  const [name] = tls ? settings['server.allowed_hosts'].names : [];
  const address = reachable(host);
  return `${tls ? 'https' : 'http'}://${name ?? (address === '127.0.0.1' ? 'localhost' : address)}:${port}`;
}

function reachable(host: string): string {
  if (['localhost', '127.0.0.1', '0.0.0.0', '::', '::1', '*', ''].includes(host)) return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

function isHealth(body: unknown): body is Health {
  return isObject(body) && typeof body.instance_id === 'string' && typeof body.version === 'string';
}

/**
 * Throws GwError `storage_unavailable` if the running daemon has lost its database: what is at its path now has none of
 * the latest spend, or would be created empty.
 */
export async function refuseLostDatabase(paths: Paths): Promise<void> {
  const { pid, databaseFile, databaseLoss } = readDaemonInfo(paths);
  if (databaseFile === undefined || pid === undefined) return;
  const { isSameFile, lostDatabase } = await import('../../store/database/file-watch.ts');
  if (databaseLoss === undefined && isSameFile(paths.database, databaseFile)) return;
  if (!isAlive(pid) || !(await isLocked(paths.lock))) return;
  throw lostDatabase(databaseLoss ?? `${basename(paths.database)} was moved, deleted or replaced`);
}

/** Whether a daemon holds the lock. The check takes the lock for a moment, so do not call it while one may be starting. */
export async function isLocked(path: string): Promise<boolean> {
  const { acquireLock } = await import('../../store/database/lock.ts');
  const lock = acquireLock(path);
  lock?.release();
  return lock === undefined;
}
