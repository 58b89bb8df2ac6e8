import { statSync } from 'node:fs';
import { createCalendar } from '../../calendar.ts';
import { timeOfRequestId } from '../../ids.ts';
import { listRequests } from '../../store/requests/request-log.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { broken, type Finding, ok } from './check.ts';

const TOLERANCE_MS = 5 * 60_000;

/** Checks that the clock was not set back, which would keep budgets in a period that has ended. */
export async function checkClock(context: Context): Promise<Finding> {
  const now = context.clock.now();
  const released = statSync(context.program).mtimeMs;
  const [last] = await withStore(context, (db) => listRequests(db, { limit: 1 }));
  const latest = Math.max(last ? timeOfRequestId(last.id) : 0, released);
  if (latest - now > TOLERANCE_MS) {
    return broken(
      'clock',
      `the clock reads ${new Date(now).toISOString()}, but it has already been ${new Date(latest).toISOString()}`,
      'set the clock (timedatectl set-ntp true)',
    );
  }
  return ok('clock', new Date(now).toISOString());
}

/** Shows the time zone whose days budgets and reports use. */
export function checkTimezone(context: Context): Finding {
  const { settings, origins } = readSettings(context);
  const { timezone } = settings;
  const now = context.clock.now();
  const resets = createTimeFormat(timezone).moment(createCalendar(timezone).day(now).end, now);
  const source = origins.timezone === 'default' ? "the system's" : origins.timezone;
  const message = `${timezone} (${source}), the day ends at ${resets}`;
  if (origins.timezone !== 'default') return ok('time zone', message);
  return ok('time zone', `${message}; to change it: gw config set timezone Europe/Paris`);
}
