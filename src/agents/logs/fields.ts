import { isObject } from '../../json/object.ts';

/** A field of a value; undefined if the value is no object. */
export const field = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** A string field; empty if it is missing or has another type. */
export function textField(value: unknown, name: string): string {
  const text = field(value, name);
  return typeof text === 'string' ? text : '';
}

/** A token count; 0 if it is missing or invalid. */
export function countField(value: unknown, name: string): number {
  const count = field(value, name);
  return Number.isSafeInteger(count) && Number(count) > 0 ? Number(count) : 0;
}

/** A timestamp in UTC milliseconds; undefined if it is missing or invalid. */
export function timeField(value: unknown, name: string): number | undefined {
  const time = Date.parse(textField(value, name));
  return Number.isNaN(time) ? undefined : time;
}
