import type { Column, ContainerType } from './columns.ts';
import type { Derived } from './derived-columns.ts';
import type { Prefixes } from './prefixes.ts';
import type { Shape } from './shapes.ts';
import { groupByStem, type Made, type StemGroup, writeStems } from './stems.ts';

export interface Head {
  columns: Map<Shape, Column[]>;
  prefixes: Prefixes;
  /** The items of the list stood one a line, without brackets. */
  lines: boolean;
  /** Some texts of the body are written as stems of their keys. */
  hasStems: boolean;
}

/** A key that can stand without its quotes. */
const BARE_KEY = /^"[A-Za-z_$@][A-Za-z0-9_ .$@/-]*"$/;

/** What a reader of records needs first: the legend, the prefixes, and the columns of each shape. */
export function writeHead(head: Head): string {
  const lines: string[] = [];
  for (const { sign, text } of head.prefixes) lines.push(`${sign}="${text}"`);
  let { hasStems } = head;
  for (const [shape, columns] of head.columns) {
    const fields = writeFields(shape, columns);
    hasStems ||= fields.some((field) => field.startsWith('('));
    lines.push(`#${shape.id}(${fields.join(',')})`);
  }
  return [legend({ ...head, hasStems }), ...lines].join('\n');
}

function legend({ columns, prefixes, lines, hasStems }: Head): string {
  const all = [...columns.values()].flat();
  const has = (holds: (column: Column) => boolean) => all.some(holds);
  const parts = [`[gw json${lines ? ' lines' : ''}: values in the order of #`];
  if (has((column) => column.kind === 'plain' && column.isText)) parts.push('key": text');
  if (has((column) => column.kind === 'plain' && column.by !== undefined))
    parts.push('a<b: empty as for the same b before');
  if (has((column) => column.kind === 'constant')) parts.push('key=value: in all');
  if (has((column) => column.kind === 'prefix')) parts.push('key="x"+: all start with x');
  if (has((column) => column.kind === 'derived' && column.source !== undefined))
    parts.push('a=b+"x": b then x');
  if (has((column) => column.kind === 'derived' && column.source === undefined))
    parts.push('a=<key>: the key before ()');
  if (hasStems) parts.push('(a,b)_c: a_c is /a');
  const [first] = prefixes;
  if (first) parts.push(`"${first.sign}x": ${first.sign} then x`);
  if ([...columns.keys()].some(hasGaps)) parts.push('empty: no such key');
  return `${parts.join('; ')}]`;
}

function hasGaps(shape: Shape): boolean {
  return shape.records.some((record) => record.keys.length < shape.keys.length);
}

function writeFields(shape: Shape, columns: readonly Column[]): string[] {
  const groups = stemsOf(shape, columns);
  const seen = new Set<StemGroup>();
  return columns.flatMap((column, place) => {
    const key = shape.keys[place] ?? '';
    const found = groups.get(key);
    if (!found) return [writeKey(key) + writeColumn(column, shape)];
    const { group, source } = found;
    return seen.size < seen.add(group).size ? [`${writeStems(group)}=${source}+"${group.start}"`] : [];
  });
}

interface Linked {
  group: StemGroup;
  /** The field that they are made of besides their own key. */
  source: string;
}

/** Fields that are made of one before them and their own key. */
function stemsOf(shape: Shape, columns: readonly Column[]): Map<string, Linked> {
  const bySource = new Map<string, Made[]>();
  columns.forEach((column, place) => {
    if (column.kind !== 'derived' || column.before !== '' || column.source === undefined) return;
    const list = bySource.get(column.source) ?? [];
    bySource.set(column.source, list);
    list.push({ key: shape.keys[place] ?? '', text: column.after });
  });
  const linked = new Map<string, Linked>();
  for (const [source, made] of bySource) {
    for (const [key, group] of groupByStem(made)) linked.set(key, { group, source: writeKey(source) });
  }
  return linked;
}

function writeKey(key: string): string {
  return BARE_KEY.test(key) ? key.slice(1, -1) : key;
}

function writeColumn(column: Column, shape: Shape): string {
  switch (column.kind) {
    case 'plain':
      return `${column.isText ? '"' : ''}${column.by === undefined ? '' : `<${writeKey(shape.keys[column.by] ?? '')}`}`;
    case 'constant':
      return `=${column.value}`;
    case 'prefix':
      return `="${column.prefix}"+`;
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
