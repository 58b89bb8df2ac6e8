import { readFileSync } from 'node:fs';
import { createCalendar, isTimezone, systemTimezone } from '../../calendar.ts';
import { isAlive, readDaemonInfo } from '../../daemon-info.ts';
import { orElse } from '../../errors.ts';
import { type Paths, resolvePaths } from '../../paths.ts';
import { openToRead, readStatusFigures, type StatusFigures } from '../../store/dashboard/status-line.ts';
import { statusText } from './line.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The status line of this machine's gw. Reads the database itself, so it works while gw is down, and loads neither the
 * settings nor the client, which take longer than all else.
 */
export function localLine(env: Environment, sessionId: string, now: number): string {
  const paths = resolvePaths(env);
  return statusText(
    figuresIn(paths.database, sessionId, timezoneOf(env, paths.config), now),
    isRunning(paths),
  );
}

function figuresIn(
  path: string,
  sessionId: string,
  timezone: string,
  now: number,
): StatusFigures | undefined {
  const db = openToRead(path);
  try {
    return db && readStatusFigures(db, { sessionId, calendar: createCalendar(timezone), now });
  } catch {
    // Not migrated yet, or locked for long: the line has no figures this time.
    return undefined;
  } finally {
    db?.close();
  }
}

function timezoneOf(env: Environment, configPath: string): string {
  const zone = env.GW_TIMEZONE || fieldOf(configPath, 'timezone');
  return typeof zone === 'string' && isTimezone(zone) ? zone : systemTimezone();
}

/** Whether the process of daemon.json lives. The lock would tell for sure, but a look at it can make a start fail. */
function isRunning(paths: Paths): boolean {
  const { pid } = readDaemonInfo(paths);
  return pid !== undefined && isAlive(pid);
}

function fieldOf(path: string, name: string): unknown {
  return orElse(() => (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)[name], undefined);
}
