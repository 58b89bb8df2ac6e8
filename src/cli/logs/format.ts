import { isObject } from '../../json/object.ts';
import type { Palette } from '../../terminal/palette.ts';
import { clean } from '../../terminal/text.ts';
import type { TimeFormat } from '../../terminal/time.ts';

/** pino's levels: https://github.com/pinojs/pino/blob/main/docs/api.md#logger-level */
const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
const OWN_FIELDS = ['level', 'time', 'msg', 'pid', 'hostname'];

/** Formats a JSON log line as time, level, message and the other fields as name=value. Keeps other lines as they are. */
export function createLogFormat(times: TimeFormat, palette: Palette): (line: string) => string {
  return (line) => {
    const entry = parse(line);
    if (!entry) return clean(line);
    const level = LEVELS[Number(entry.level)] ?? 'info';
    const name = level === 'info' || level === 'debug' ? palette.dim(level) : palette.warn(level);
    const rest = Object.entries(entry)
      .filter(([field]) => !OWN_FIELDS.includes(field))
      .map(([field, value]) =>
        clean(`${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
      );
    const time = palette.dim(times.dateTime(timeOf(entry)));
    return [time, name, clean(String(entry.msg ?? '')), palette.dim(rest.join(' '))]
      .filter(Boolean)
      .join('  ');
  };
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return isObject(entry) && !Number.isNaN(timeOf(entry)) ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** pino writes the time in milliseconds or in ISO form. */
function timeOf({ time }: Record<string, unknown>): number {
  return typeof time === 'string' ? Date.parse(time) : Number(time);
}
