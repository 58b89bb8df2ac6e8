import { type Column, table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { wrap } from '../terminal/text.ts';
import { type Context, note, say, sayJson, screenOf } from './context.ts';

interface Surroundings {
  title?: string;
  /** Remarks below the table. */
  below?: readonly string[];
}

interface ListOptions extends Surroundings {
  json: boolean | undefined;
  /** The data of `--json`, if it isn't the rows. */
  data?: unknown;
  /** Said on stderr if there is no row. */
  empty?: string;
}

/** Prints rows as a table, or with `json` as data. */
export function printList<Row>(
  context: Context,
  rows: Row[],
  columns: Column<Row>[],
  { json, data = rows, empty, ...surroundings }: ListOptions,
): void {
  if (json) sayJson(context, data);
  else if (rows.length === 0 && empty !== undefined) note(context, empty);
  else say(context, listText(rows, columns, screenOf(context), surroundings));
}

/** A table under its title, with remarks below it. */
export function listText<Row>(
  rows: Row[],
  columns: Column<Row>[],
  terminal: Terminal,
  { title, below = [] }: Surroundings = {},
): string {
  const { bold, dim } = terminal.palette;
  return [
    ...(title === undefined ? [] : [...wrap(title, terminal.textColumns).map(bold), '']),
    ...table(rows, columns, { terminal }),
    ...(below.length > 0 ? ['', ...below.flatMap((text) => indented(text, terminal)).map(dim)] : []),
  ].join('\n');
}

/** A remark in lines that all stand as far in as its first. */
function indented(text: string, { textColumns }: Terminal): string[] {
  const words = text.trimStart();
  const indent = text.slice(0, text.length - words.length);
  return wrap(words, textColumns - indent.length).map((line) => indent + line);
}
