import { badRequest } from '../errors.ts';
import { isObject } from '../json/object.ts';

export type Json = Record<string, unknown>;

/** The value as an object. Throws GwError 400 otherwise. */
export function objectAt(value: unknown, param: string): Json {
  if (isObject(value)) return value;
  throw badRequest(`"${param}" must be an object`, param, 'invalid_type');
}

/** The value as an array. Throws GwError 400 otherwise. */
export function listAt(value: unknown, param: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw badRequest(`"${param}" must be an array`, param, 'invalid_type');
}

/** The value as a string. Throws GwError 400 otherwise. */
export function textAt(value: unknown, param: string): string {
  if (typeof value === 'string') return value;
  throw badRequest(`"${param}" must be a string`, param, 'invalid_type');
}

/** The fields that are neither undefined nor null. */
export function definedFields(fields: Json): Json {
  const defined: Json = {};
  for (const key of Object.keys(fields))
    if (fields[key] !== undefined && fields[key] !== null) defined[key] = fields[key];
  return defined;
}

/** Adds to a list. `push(...items)` fails with some 100,000 of them, which a request may have. */
export function append<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}

/** Looks up a key sent by the client. Inherited properties such as `__proto__` don't count. */
export function lookUp<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** The value if it is a token count, otherwise 0. */
export const countIn = (value: unknown): number => (typeof value === 'number' && value >= 0 ? value : 0);

/** Any value as text. `String` throws for an object such as `{"toString": 1}`. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
}
