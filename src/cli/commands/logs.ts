import { existsSync } from 'node:fs';
import { terminalOf } from '../../terminal/terminal.ts';
import { escapeJson } from '../../terminal/text.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say } from '../context.ts';
import { tailOf } from '../daemon/log-tail.ts';
import { readCount } from '../input/count.ts';
import { followFile } from '../logs/follow.ts';
import { createLogFormat } from '../logs/format.ts';
import { readSettings } from '../settings.ts';

interface Options {
  follow?: boolean;
  lines: string;
  json?: boolean;
}

export const logs: SetUp = (command, context) => {
  command
    .option('-f, --follow', 'keep printing new lines, until Ctrl-C')
    .option('-n, --lines <count>', 'number of last lines to print', '40')
    .option('--json', 'print the lines as they are in the file')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, { follow, lines, json }: Options): Promise<void> {
  const count = readCount(lines, '--lines');
  const file = context.paths.log;
  if (!existsSync(file)) note(context, `Nothing is logged yet (${file}). Run: gw start`);
  const times = createTimeFormat(readSettings(context).settings.timezone);
  const format = json ? escapeJson : createLogFormat(times, terminalOf(context.stdout, context.env).palette);
  const print = (line: string) => say(context, format(line));
  if (follow) await followFile(file, { print, lines: count });
  else tailOf(file, count).forEach(print);
}
