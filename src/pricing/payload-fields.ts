import { isObject } from '../json/object.ts';

/** The fields of a provider's JSON, none of which are trusted to exist or to have the right type. */
export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = {};

/** The fields of an object; none for any other value. */
export function fields(value: unknown): Fields {
  return isObject(value) ? value : NO_FIELDS;
}

/** Whether the provider sent a value: some send null for "no such figure". */
export function isStated(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The value, if it is a count: a non-negative integer. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The first of the values that is a count, including 0; 0 if none is. */
export function first(...values: unknown[]): number {
  for (const value of values) {
    const counted = count(value);
    if (counted !== undefined) return counted;
  }
  return 0;
}
