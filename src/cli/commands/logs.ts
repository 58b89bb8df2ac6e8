import { existsSync } from 'node:fs';
import { isObject } from '../../json/object.ts';
import type { Palette } from '../../terminal/palette.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { clean, escapeJson } from '../../terminal/text.ts';
import { createTimeFormat, type TimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { note, say } from '../context.ts';
import { tailOf } from '../daemon/log-tail.ts';
import { readCount } from '../input/count.ts';
import { followFile } from '../logs/follow.ts';
import { readSettings } from '../settings.ts';

export const logs: SetUp = (command, context) => {
  command
    .option('-f, --follow', 'keep printing new lines, until Ctrl-C')
    .option('-n, --lines <count>', 'number of last lines to print', '40')
    .option('--json', 'print the lines as they are in the file')
    .action(async ({ follow, lines, json }) => {
      const count = readCount(lines, '--lines');
      const file = context.paths.log;
      if (!existsSync(file)) note(context, `Nothing is logged yet (${file}). Run: gw start`);
      const times = createTimeFormat(readSettings(context).settings.timezone);
      const format = json
        ? escapeJson
        : createLogFormat(times, terminalOf(context.stdout, context.env).palette);
      const print = (line: string) => say(context, format(line));
      if (follow) await followFile(file, { print, lines: count });
      else tailOf(file, count).forEach(print);
    });
};

/** pino's levels: https://github.com/pinojs/pino/blob/main/docs/api.md#logger-level */
const LEVELS: Record<number, string> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
const OWN_FIELDS = ['level', 'time', 'msg', 'pid', 'hostname'];

/** Formats a JSON log line as time, level, message and the other fields as name=value. Keeps other lines as they are. */
function createLogFormat(times: TimeFormat, palette: Palette): (line: string) => string {
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
