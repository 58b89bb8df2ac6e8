import { isObject } from '../../json/object.ts';

/** A field of a value that may not be an object. */
export function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** A field's text; empty if it is none. */
export function textField(value: unknown, name: string): string {
  const text = field(value, name);
  return typeof text === 'string' ? text : '';
}

/** A field's token count; 0 if it is none. */
export function countField(value: unknown, name: string): number {
  const count = field(value, name);
  return Number.isSafeInteger(count) && Number(count) > 0 ? Number(count) : 0;
}

/** The time of a log line, UTC milliseconds; undefined without one. */
export function timeField(value: unknown, name: string): number | undefined {
  const time = Date.parse(textField(value, name));
  return Number.isNaN(time) ? undefined : time;
}
