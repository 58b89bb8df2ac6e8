const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export interface TimeFormat {
  /** `14:02:09` */
  time(timeMs: number): string;
  /** `2026-11-20 14:02:09` */
  dateTime(timeMs: number): string;
  /** The shortest form that is unambiguous at `now`: `15:40`, `Mon 15:40`, `Dec 1`. */
  moment(timeMs: number, now: number): string;
}

export function createTimeFormat(timezone: string): TimeFormat {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  const dayName = new Intl.DateTimeFormat('en-US', { timeZone: timezone, weekday: 'short' });
  const dayOfMonth = new Intl.DateTimeFormat('en-US', { timeZone: timezone, month: 'short', day: 'numeric' });
  const partsOf = (timeMs: number) =>
    Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
  const date = ({ year, month, day }: Record<string, string>) => `${year}-${month}-${day}`;
  return {
    time(timeMs) {
      const { hour, minute, second } = partsOf(timeMs);
      return `${hour}:${minute}:${second}`;
    },
    dateTime(timeMs) {
      const parts = partsOf(timeMs);
      return `${date(parts)} ${parts.hour}:${parts.minute}:${parts.second}`;
    },
    moment(timeMs, now) {
      const parts = partsOf(timeMs);
      const clock = `${parts.hour}:${parts.minute}`;
      if (Math.abs(timeMs - now) < DAY) return clock;
      if (timeMs > now && timeMs - now < 6 * DAY) return `${dayName.format(timeMs)} ${clock}`;
      return dayOfMonth.format(timeMs);
    },
  };
}

/** Formats the times of a column: `14:02:09` if all are today's, otherwise `11-20 14:02`. */
export function timeColumn(
  timesMs: readonly number[],
  times: TimeFormat,
  now: number,
): (timeMs: number) => string {
  const dayOf = (timeMs: number) => times.dateTime(timeMs).slice(0, 10);
  const isToday = timesMs.every((timeMs) => dayOf(timeMs) === dayOf(now));
  return isToday ? times.time : (timeMs) => times.dateTime(timeMs).slice(5, 16);
}

/** A duration in its two largest units: `2h14m`, `1h`, `45s`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)}ms`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}m${rest((ms % MINUTE) / SECOND, 's')}`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)}h${rest((ms % HOUR) / MINUTE, 'm')}`;
  return `${Math.floor(ms / DAY)}d${rest((ms % DAY) / HOUR, 'h')}`;
}

function rest(value: number, unit: string): string {
  return value < 1 ? '' : `${String(Math.floor(value)).padStart(2, '0')}${unit}`;
}

const UNITS: Record<string, number> = {
  s: SECOND,
  second: SECOND,
  m: MINUTE,
  min: MINUTE,
  minute: MINUTE,
  h: HOUR,
  hour: HOUR,
  d: DAY,
  day: DAY,
  w: 7 * DAY,
  week: 7 * DAY,
};

/** Parses `90s`, `1h`, `30 minutes`, `hour`, `7d` as milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)?\s*([a-z]+)$/i.exec(text.trim());
  const name = match?.[2]?.toLowerCase() ?? '';
  const unit = name.length > 2 ? name.replace(/s$/, '') : name;
  if (!Object.hasOwn(UNITS, unit)) return undefined;
  return Math.round(Number(match?.[1] ?? 1) * (UNITS[unit] ?? 0));
}

/** `812ms`, `1.9s`, `1m05s`. */
export function tookText(ms: number): string {
  return ms >= 1_000 && ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : duration(ms);
}

/** `42s`: whole seconds until a time, at least 0. */
export function secondsLeft(time: string, now: number): string {
  return `${Math.max(0, Math.ceil((Date.parse(time) - now) / SECOND))}s`;
}
