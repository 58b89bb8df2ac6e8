import { orElse } from '../errors.ts';

/** The value of a JSON text; undefined for any other text. */
export const jsonOf = (text: string): unknown => orElse(() => JSON.parse(text), undefined);

/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects in an array, for lenient parsing; none in anything else. */
export function objectsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
