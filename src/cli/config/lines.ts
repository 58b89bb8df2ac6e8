import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { widthOf, wrap } from '../../terminal/text.ts';

/** A row of `gw config list`. */
export interface Entry {
  key: string;
  value: string | number;
  origin: string;
  about: string;
}

const SETTING: Column<Entry> = { header: 'setting', value: ({ key }) => key };
const VALUE: Column<Entry> = { header: 'value', value: ({ value }) => String(value) };
const ORIGIN: Column<Entry> = { header: 'source', value: ({ origin }) => origin };
const ABOUT: Column<Entry> = { header: 'description', value: ({ about }) => about };
const GAP = 2;
const MIN_ABOUT = 20;

/** Settings with the source of each value. The values come last, because a list of models can be long. */
export function originLines(entries: Entry[], terminal: Terminal): string[] {
  return table(entries, [SETTING, ORIGIN, VALUE], { terminal });
}

/** Settings with their descriptions. Entries that users name, whose values can be long, get a second table. */
export function settingLines(scalars: Entry[], mapEntries: Entry[], terminal: Terminal): string[] {
  const lines = table(aboutBeside(scalars, terminal.columns), [SETTING, VALUE, ABOUT], { terminal });
  if (mapEntries.length === 0) return lines;
  return [...lines, '', ...table(aboutBelow(mapEntries, terminal.columns), [SETTING, VALUE], { terminal })];
}

/** Rows with the description next to the value, wrapped over as many lines as needed. */
function aboutBeside(entries: Entry[], columns: number): Entry[] {
  const room = Math.max(MIN_ABOUT, columns - widest(entries, SETTING) - widest(entries, VALUE) - 2 * GAP);
  return entries.flatMap((entry) =>
    wrap(entry.about, room).map((about, i) =>
      i === 0 ? { ...entry, about } : { ...entry, key: '', value: '', about },
    ),
  );
}

/** Rows with the description below the value. */
function aboutBelow(entries: Entry[], columns: number): Entry[] {
  const room = Math.max(MIN_ABOUT, columns - widest(entries, SETTING) - GAP);
  return entries.flatMap((entry) => [
    entry,
    ...wrap(entry.about, room).map((line) => ({ ...entry, key: '', value: line })),
  ]);
}

function widest(entries: Entry[], { header, value }: Column<Entry>): number {
  return Math.max(...[header, ...entries.map((entry) => value(entry, 0))].map(widthOf));
}
