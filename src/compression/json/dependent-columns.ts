import type { Json } from './read.ts';
import { cellOf, type Shape } from './shapes.ts';

/** Shorter values, quotes included, are as cheap as looking them up. */
const MIN_LENGTH = 8;
/** So many rows say it again: of fewer, one value may follow from another by chance. */
const MIN_AGAIN = 6;
const MIN_SHARE = 0.25;
const MAX_TRIES = 4;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;

/** A place whose values come again and again, and may settle those of later ones. */
export interface Determinant {
  place: number;
  values: readonly string[];
  /** How many different values it has. */
  kinds: number;
}

/** The first such places of a shape. */
export function determinantsOf(shape: Shape): Determinant[] {
  const determinants: Determinant[] = [];
  for (let place = 0; place < shape.keys.length && determinants.length < MAX_TRIES; place++) {
    const values = PLAIN_KEY.test(shape.keys[place] ?? '') ? stringsAt(shape, place) : undefined;
    const kinds = new Set(values).size;
    if (values && isRepeated(kinds, values.length)) determinants.push({ place, values, kinds });
  }
  return determinants;
}

/**
 * The place before this one whose value settles this one's in every record, as a product's name does its
 * number: a list of joined rows says the same of the same thing again and again.
 */
export function determinedBy(
  shape: Shape,
  place: number,
  determinants: readonly Determinant[],
): number | undefined {
  const values = determinants.length > 0 ? stringsAt(shape, place) : undefined;
  const length = values?.reduce((sum, value) => sum + value.length, 0) ?? 0;
  if (!values || length < values.length * MIN_LENGTH) return undefined;
  const kinds = new Set(values).size;
  // Of few values another's follow by chance, and a value that is always the same is said once anyway.
  if (kinds < 2 || !isRepeated(kinds, values.length)) return undefined;
  return determinants.find(
    (other) => other.place < place && kinds * 2 >= other.kinds && determines(other.values, values),
  )?.place;
}

function isRepeated(kinds: number, count: number): boolean {
  return count - kinds >= Math.max(MIN_AGAIN, count * MIN_SHARE);
}

function determines(others: readonly string[], values: readonly string[]): boolean {
  const dependents = new Map<string, string>();
  return others.every((other, i) => {
    const value = values[i] ?? '';
    const before = dependents.get(other);
    if (before === undefined) dependents.set(other, value);
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
