import { isObject } from '../json/object.ts';

/** Fields of a provider's JSON. They may be missing or have the wrong type. */
export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = {};

/** The fields of an object; empty for any other value. */
export const fields = (value: unknown): Fields => (isObject(value) ? value : NO_FIELDS);

/** Whether the provider sent a value. Some send null if they have none. */
export const isStated = (value: unknown): boolean => value !== undefined && value !== null;

/** The value if it is a count, a non-negative integer. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The first value that is a count, including 0; 0 if none is. */
export function first(...values: unknown[]): number {
  for (const value of values) {
    const number = count(value);
    if (number !== undefined) return number;
  }
  return 0;
}
