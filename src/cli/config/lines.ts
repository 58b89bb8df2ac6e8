import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { widthOf, wrap } from '../../terminal/text.ts';

/** A setting as it is listed. */
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

/** Where each value comes from; the values last, as a list of models is as long as it is. */
export function originLines(entries: Entry[], terminal: Terminal): string[] {
  return table(entries, [SETTING, ORIGIN, VALUE], { terminal });
}

/** Each value and what it is; those that a person named by themselves, with values of any length, in a second table. */
export function settingLines(scalars: Entry[], named: Entry[], terminal: Terminal): string[] {
  const lines = table(aboutBeside(scalars, terminal.columns), [SETTING, VALUE, ABOUT], { terminal });
  if (named.length === 0) return lines;
  return [...lines, '', ...table(aboutBelow(named, terminal.columns), [SETTING, VALUE], { terminal })];
}

/** What a setting is, beside its value and as many lines long as it takes. */
function aboutBeside(entries: Entry[], columns: number): Entry[] {
  const room = Math.max(MIN_ABOUT, columns - widest(entries, SETTING) - widest(entries, VALUE) - 2 * GAP);
  return entries.flatMap((entry) =>
    wrap(entry.about, room).map((about, i) =>
      i === 0 ? { ...entry, about } : { ...entry, key: '', value: '', about },
    ),
  );
}

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
