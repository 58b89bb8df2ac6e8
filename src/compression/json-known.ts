import type { Json } from './json-read.ts';
import { cellOf, type Shape } from './json-shapes.ts';

/** Shorter values, quotes included, are as cheap as looking them up. */
const MIN_LENGTH = 8;
/** So many rows say it again: of fewer, one value may follow from another by chance. */
const MIN_AGAIN = 6;
const MIN_SHARE = 0.25;
const MAX_TRIES = 4;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;

/**
 * The place before this one whose value settles this one's in every record, as a product's name does its
 * number: a list of joined rows says the same of the same thing again and again.
 */
export function settledBy(shape: Shape, place: number): number | undefined {
  const values = stringsAt(shape, place);
  const length = values?.reduce((sum, value) => sum + value.length, 0) ?? 0;
  if (!values || length < values.length * MIN_LENGTH) return undefined;
  const kinds = new Set(values).size;
  if (!isRepeated(kinds, values.length)) return undefined;
  let tries = 0;
  for (let by = 0; by < place && tries < MAX_TRIES; by++) {
    const others = PLAIN_KEY.test(shape.keys[by] ?? '') ? stringsAt(shape, by) : undefined;
    if (!others) continue;
    const otherKinds = new Set(others).size;
    // Of few values another's follow by chance, and a value that is always the same is said once anyway.
    if (!isRepeated(otherKinds, others.length) || kinds * 2 < otherKinds || kinds < 2) continue;
    tries++;
    if (settles(others, values)) return by;
  }
  return undefined;
}

function isRepeated(kinds: number, count: number): boolean {
  return count - kinds >= Math.max(MIN_AGAIN, count * MIN_SHARE);
}

function settles(others: readonly string[], values: readonly string[]): boolean {
  const known = new Map<string, string>();
  return others.every((other, i) => {
    const value = values[i] ?? '';
    const before = known.get(other);
    if (before === undefined) known.set(other, value);
    return before === undefined || before === value;
  });
}

/** The values of a place, where every record has a primitive there. */
function stringsAt(shape: Shape, place: number): string[] | undefined {
  const values: string[] = [];
  for (const record of shape.records) {
    const value: Json | undefined = cellOf(record, shape.keys, place);
    if (typeof value !== 'string') return undefined;
    values.push(value);
  }
  return values;
}
