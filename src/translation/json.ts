import { badRequest, GwError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import { parseObject } from '../wire/answer/events.ts';

export type Json = Record<string, unknown>;

/** A 400 that names what the other wire has no word for. It is refused rather than left out unsaid. */
export function cannotExpress(param: string, provider: string, hint = ''): GwError {
  return badRequest(
    `"${param}" cannot be expressed in ${provider}'s API, which this model is reached by${hint === '' ? '' : `: ${hint}`}`,
    param,
    'unsupported_parameter',
  );
}

/** Throws unless the value is an object. */
export function objectAt(value: unknown, param: string): Json {
  if (isObject(value)) return value;
  throw badRequest(`"${param}" must be an object`, param, 'invalid_type');
}

export function listAt(value: unknown, param: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw badRequest(`"${param}" must be an array`, param, 'invalid_type');
}

export function textAt(value: unknown, param: string): string {
  if (typeof value === 'string') return value;
  throw badRequest(`"${param}" must be a text`, param, 'invalid_type');
}

/** The fields that have a value. */
export function stated(fields: Json): Json {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

/** What a table says of a key that a client has written: `__proto__` and the like are in no table. */
export function entryOf<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** The JSON of an answer. Throws GwError 502 where a provider sends something else. */
export function answerObject(body: Buffer): Json {
  const answer = parseObject(body.toString('utf8'));
  if (answer) return answer;
  throw new GwError("the provider's answer is no JSON object, and so cannot be translated", {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
  });
}

/** Parts as an array of objects: for reading what a provider sent, where nothing is refused. */
export function objectsIn(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function countIn(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? value : 0;
}

export const EMPTY = Buffer.alloc(0);
