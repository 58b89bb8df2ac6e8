import { badRequest } from '../../errors.ts';
import { isEmpty, type Json } from '../json.ts';

/** The fields that have a value, without those in `read`. */
export function rest(body: Json, read: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(body).filter(([key, value]) => !read.has(key) && !isEmpty(value)));
}

/** The value if it is a number; undefined without one. Throws GwError 400 otherwise. */
export function numberIn(value: unknown, param: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value;
  throw badRequest(`"${param}" must be a number`, param, 'invalid_type');
}
