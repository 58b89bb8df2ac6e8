import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isObject } from '../../src/json/object.ts';

/** A named call, and what it returns. Rows below it show how the outcome differs from its own. */
export interface Row {
  name: string;
  outcome: () => unknown;
  variations?: readonly Row[];
}

/** The outcome of a value that the types don't allow: its message differs from one release of Node to the next. */
const IMPOSSIBLE = 'impossible';
const IS_WRITING = process.env.GW_FREEZE === '1';

/**
 * Compares outcomes with `frozen/NAME.txt` beside the test, a line each; writes that file with GW_FREEZE=1. Variations of a
 * row have a line for each way in which they differ from it, and those that don't differ, or break what the types
 * promise, have none.
 */
export async function expectFrozen(folder: string, name: string, rows: readonly Row[]): Promise<void> {
  const path = join(folder, 'frozen', `${name}.txt`);
  const lines: string[] = [];
  for (const row of rows) {
    const base = await outcomeOf(row);
    lines.push(`${row.name}: ${JSON.stringify(base)}`);
    const named = new Map<string, string[]>();
    for (const variation of row.variations ?? []) {
      const outcome = await outcomeOf(variation);
      const changes = outcome === IMPOSSIBLE ? '' : [...changesOf(base, outcome)].join(', ');
      if (changes !== '') named.set(changes, [...(named.get(changes) ?? []), variation.name]);
    }
    for (const [changes, names] of named) lines.push(`  ${names.join(' | ')}: ${changes}`);
  }
  if (IS_WRITING) {
    mkdirSync(join(folder, 'frozen'), { recursive: true });
    writeFileSync(path, `${lines.join('\n')}\n`);
  }
  expect(lines).toEqual(existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []);
}

/** The outcome as JSON can say it, errors included. */
async function outcomeOf({ outcome }: Row): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify((await outcome()) ?? null, plain));
  } catch (error) {
    if (error instanceof TypeError) return IMPOSSIBLE;
    return `throws ${error instanceof Error ? error.message : String(error)}`;
  }
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value === Number.POSITIVE_INFINITY ? 'Infinity' : value;
}

function* changesOf(before: unknown, after: unknown, path = ''): Generator<string> {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (after === undefined) yield `-${path}`;
  else if (isObject(before) && isObject(after))
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* changesOf(before[key], after[key], path === '' ? key : `${path}.${key}`);
  else if (Array.isArray(before) && Array.isArray(after)) yield* changesOfList(before, after, path);
  else yield `${path === '' ? '' : `${path} `}${JSON.stringify(after)}`;
}

/** Between what both lists begin and end with. */
function* changesOfList(before: unknown[], after: unknown[], path: string): Generator<string> {
  const isSame = (i: number, j: number) => JSON.stringify(before[i]) === JSON.stringify(after[j]);
  const least = Math.min(before.length, after.length);
  if (before.length === after.length)
    for (const [i, each] of before.entries()) yield* changesOf(each, after[i], `${path}[${i}]`);
  else {
    let head = 0;
    while (head < least && isSame(head, head)) head++;
    let tail = 0;
    while (tail < least - head && isSame(before.length - 1 - tail, after.length - 1 - tail)) tail++;
    const removed = before.length - head - tail;
    yield `${path}[${head}] -${removed} ${JSON.stringify(after.slice(head, after.length - tail))}`;
  }
}

/** A value with one thing in it changed, for each in turn: left out, or replaced by one of `others`. */
export function* variationsOf(
  value: unknown,
  others: (value: unknown) => readonly unknown[],
  path = '',
): Generator<{ name: string; value: unknown }> {
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((each, i) => [`${path}[${i}]`, each])
    : Object.entries(value as object).map(([key, each]) => [path === '' ? key : `${path}.${key}`, each]);
  for (const [i, [place, each]] of entries.entries()) {
    yield { name: `-${place}`, value: replaced(value, i) };
    for (const other of others(each))
      if (JSON.stringify(other) !== JSON.stringify(each))
        yield { name: `${place} ${nameOf(each, other)}`, value: replaced(value, i, other) };
    if (Array.isArray(each) || isObject(each))
      for (const inner of variationsOf(each, others, place))
        yield { name: inner.name, value: replaced(value, i, inner.value) };
  }
}

/** A value, or what an object has besides. */
function nameOf(before: unknown, after: unknown): string {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(after);
  const added = Object.entries(after).filter(([key]) => !(key in before));
  return `+ ${JSON.stringify(Object.fromEntries(added))}`;
}

function replaced(value: unknown, at: number, ...others: unknown[]): unknown {
  if (Array.isArray(value)) return value.toSpliced(at, 1, ...others);
  const entries = Object.entries(value as object);
  const key = entries[at]?.[0] ?? '';
  return Object.fromEntries(
    entries.toSpliced(at, 1, ...others.map((other): [string, unknown] => [key, other])),
  );
}
