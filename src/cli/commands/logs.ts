import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../json/object.ts';
import type { Palette } from '../../terminal/palette.ts';
import { clean, escapeJson } from '../../terminal/text.ts';
import { createTimeFormat, type TimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { note, say, screenOf } from '../context.ts';
import { tailOf } from '../daemon/log-tail.ts';
import { readCount } from '../input/values.ts';
import { readSettings } from '../settings.ts';

export const logs: SetUp = (command, context) =>
  command
    .option('-f, --follow', 'keep printing new lines, until Ctrl-C')
    .option('-n, --lines <count>', 'number of last lines to print', '40')
    .option('--json', 'print the lines as they are in the file')
    .action(async ({ follow, lines, json }) => {
      const count = readCount(lines, '--lines');
      const file = context.paths.log;
      if (!existsSync(file)) note(context, `Nothing is logged yet (${file}). Run: gw start`);
      const times = createTimeFormat(readSettings(context).settings.timezone);
      const format = json ? escapeJson : createLogFormat(times, screenOf(context).palette);
      const print = (line: string) => say(context, format(line));
      if (follow) await followFile(file, { print, lines: count });
      else tailOf(file, count).forEach(print);
    });

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

const POLL_MS = 200;
const CHUNK_BYTES = 64 * 1024;

interface FollowOptions {
  print(line: string): void;
  /** How many of the last lines to print first. */
  lines: number;
  signal?: AbortSignal;
}

/** Prints the lines of a file as they are appended, across rotations, until the signal aborts. */
export async function followFile(file: string, { print, lines, signal }: FollowOptions): Promise<void> {
  let reader = openReader(file);
  reader
    ?.read()
    .slice(-lines || Number.POSITIVE_INFINITY)
    .forEach(print);
  while (!signal?.aborted) {
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
    reader?.read().forEach(print);
    if (reader && !reader.isReplaced()) continue;
    // Lines written between the last read and the rotation.
    reader?.read().forEach(print);
    reader?.close();
    reader = openReader(file);
    reader?.read().forEach(print);
  }
  reader?.close();
}

function openReader(file: string) {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return undefined;
  }
  const { ino } = fstatSync(fd);
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  let rest = '';
  return {
    /** The complete lines appended since the last call. */
    read() {
      for (let size = -1; size !== 0; position += size) {
        size = readSync(fd, buffer, 0, CHUNK_BYTES, position);
        rest += decoder.write(buffer.subarray(0, size));
      }
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      return lines;
    },
    /** Whether the path now names another file, or this file was truncated. */
    isReplaced() {
      const now = statSync(file, { throwIfNoEntry: false });
      return now === undefined || now.ino !== ino || now.size < position;
    },
    close: () => closeSync(fd),
  };
}
