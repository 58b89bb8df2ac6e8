import { badRequest } from '../../errors.ts';
import { asText, isEmpty, type Json, listAt, objectAt } from '../json.ts';

/** The fields that have a value, without those in `read`. */
export function rest(body: Json, read: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(body).filter(([key, value]) => !read.has(key) && !isEmpty(value)));
}

/** The value as text; undefined without one. */
export const optionalText = (value: unknown): string | undefined =>
  isEmpty(value) ? undefined : asText(value);

/** The value as an object; an empty one without a value. Throws GwError 400 for anything else. */
export const optionalObject = (value: unknown, param: string): Json =>
  isEmpty(value) ? {} : objectAt(value, param);

/** What is read of each object in a list. Throws GwError 400 for anything but a list of objects. */
export const eachObject = <T>(value: unknown, at: string, read: (object: Json, at: string) => T): T[] =>
  listAt(value, at).map((each, i) => {
    const path = `${at}[${i}]`;
    return read(objectAt(each, path), path);
  });

/** `eachObject`; none without a value. */
export const eachOptional = <T>(value: unknown, at: string, read: (object: Json, at: string) => T): T[] =>
  isEmpty(value) ? [] : eachObject(value, at, read);

/** The value if it is a number; undefined without one. Throws GwError 400 otherwise. */
export function numberIn(value: unknown, param: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value;
  throw badRequest(`"${param}" must be a number`, param, 'invalid_type');
}
