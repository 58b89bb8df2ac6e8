import { statSync } from 'node:fs';
import { createCalendar } from '../../calendar.ts';
import { type ClockJump, lastClockJump } from '../../store/database/clock-jumps.ts';
import { latestTime } from '../../store/database/set-back.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { broken, type Finding, ok, warning } from './check.ts';

const TOLERANCE_MS = 5 * 60_000;
/** How long a jump of the clock is reported. */
const REPORTED_MS = 30 * 86_400_000;

/** Checks that the clock was not set back, and reports jumps that a daemon or a command has noticed. */
export async function checkClock(context: Context): Promise<Finding> {
  const now = context.clock.now();
  const released = statSync(context.program).mtimeMs;
  const { reached, jump } = await withStore(context, async (db) => ({
    reached: latestTime(db),
    jump: lastClockJump(db),
  }));
  const latest = Math.max(reached, released);
  if (latest - now > TOLERANCE_MS) {
    return broken(
      'clock',
      `the clock reads ${new Date(now).toISOString()}, but it has already been ${new Date(latest).toISOString()}`,
      'set the clock (timedatectl set-ntp true)',
    );
  }
  const jumped = jump && Math.abs(now - jump.at) < REPORTED_MS ? `; ${jumpText(jump)}` : '';
  if (jump && jump.ms < 0 && jumped !== '')
    return warning(
      'clock',
      `${new Date(now).toISOString()}${jumped}`,
      'see that it is set by NTP (timedatectl)',
    );
  return ok('clock', `${new Date(now).toISOString()}${jumped}`);
}

function jumpText({ at, ms }: ClockJump): string {
  const how = ms < 0 ? `back by ${duration(-ms)}` : `forward by ${duration(ms)}, or the computer slept`;
  return `it jumped ${how}, to ${new Date(at).toISOString()}`;
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
