import type { Json } from './read.ts';
import type { Shape } from './shapes.ts';

/** Values below this mean length, quotes included, are as cheap to repeat. */
const MIN_LENGTH = 8;
/** This many rows must repeat a value. With fewer, a dependency may be coincidence. */
const MIN_AGAIN = 6;
const MIN_SHARE = 0.25;
const MAX_TRIES = 4;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;

/** A field with repeated values, which may determine the values of later fields. */
export interface Determinant {
  place: number;
  values: readonly string[];
  /** Number of distinct values. */
  kinds: number;
}

/** The first fields of a shape that may be determinants. */
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
 * The earlier field whose value determines this one's in every record (a functional dependency), as a product's name
 * determines its number in joined rows.
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
  // Few distinct values depend on others by coincidence, and a constant is written once anyway.
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

/** The values of a field, if every record has a primitive there. */
function stringsAt(shape: Shape, place: number): string[] | undefined {
  const values: string[] = [];
  for (const record of shape.records) {
    const value: Json | undefined = record.values[place];
    if (typeof value !== 'string') return undefined;
    values.push(value);
  }
  return values;
}
