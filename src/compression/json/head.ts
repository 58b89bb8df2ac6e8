import type { Column, ContainerType } from './columns.ts';
import type { Derived } from './derived-columns.ts';
import type { Prefixes } from './prefixes.ts';
import type { Shape } from './shapes.ts';

export interface Head {
  columns: Map<Shape, Column[]>;
  prefixes: Prefixes;
  /** The list was written as JSON lines: one item a line, without brackets. */
  lines: boolean;
}

/** A key that can be written without quotes. */
const BARE_KEY = /^"[A-Za-z_$@][A-Za-z0-9_ .$@/-]*"$/;

/** Writes what a reader of records needs first: legend, prefixes, and the columns of each shape. */
export function writeHead(head: Head): string {
  const lines: string[] = [];
  for (const { sign, text } of head.prefixes) lines.push(`${sign}="${text}"`);
  for (const [shape, columns] of head.columns) lines.push(`#${shape.id}(${writeFields(shape, columns)})`);
  return [legend(head), ...lines].join('\n');
}

function legend({ columns, prefixes, lines }: Head): string {
  const all = [...columns.values()].flat();
  const has = (holds: (column: Column) => boolean) => all.some(holds);
  const parts = [`[gw json${lines ? ' lines' : ''}: values in the order of #`];
  if (has((column) => column.kind === 'plain' && column.by !== undefined))
    parts.push('a<b: empty as for the same b before');
  if (has((column) => column.kind === 'constant')) parts.push('key=value: in all');
  if (has((column) => column.kind === 'derived' && column.source !== undefined))
    parts.push('a=b+"x": b then x');
  if (has((column) => column.kind === 'derived' && column.source === undefined))
    parts.push('a=<key>: the key before ()');
  const [first] = prefixes;
  if (first) parts.push(`"${first.sign}x": ${first.sign} then x`);
  return `${parts.join('; ')}]`;
}

function writeFields(shape: Shape, columns: readonly Column[]): string {
  return columns
    .map((column, place) => writeKey(shape.keys[place] ?? '') + writeColumn(column, shape))
    .join(',');
}

function writeKey(key: string): string {
  return BARE_KEY.test(key) ? key.slice(1, -1) : key;
}

function writeColumn(column: Column, shape: Shape): string {
  switch (column.kind) {
    case 'plain':
      return column.by === undefined ? '' : `<${writeKey(shape.keys[column.by] ?? '')}`;
    case 'constant':
      return `=${column.value}`;
    case 'derived':
      return `=${writeDerived(column)}`;
    case 'typed':
      return writeType(column.type);
  }
}

function writeDerived({ before, source, after }: Derived): string {
  const parts = [source === undefined ? '<key>' : source.slice(1, -1)];
  if (before !== '') parts.unshift(`"${before}"`);
  if (after !== '') parts.push(`"${after}"`);
  return parts.join('+');
}

function writeType({ container, shape }: ContainerType): string {
  if (container === 'record') return `#${shape.id}`;
  return container === 'list' ? `[#${shape.id}]` : `{#${shape.id}}`;
}
