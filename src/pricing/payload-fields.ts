import { isObject } from '../json/object.ts';

/** Reading a provider's JSON: nothing in it is trusted to be there or to be of its type. */
export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = {};

/** The value's fields; none if it is no object. */
export function fields(value: unknown): Fields {
  return isObject(value) ? value : NO_FIELDS;
}

/** Whether the provider says anything there: null is what some send for "no such figure". */
export function isStated(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The value if it is a count, that is a non-negative integer. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The first of the values that is a count, and 0 is one; 0 if none is. */
export function first(...values: unknown[]): number {
  for (const value of values) {
    const counted = count(value);
    if (counted !== undefined) return counted;
  }
  return 0;
}
