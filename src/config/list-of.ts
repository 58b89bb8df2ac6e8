import { jsonOf } from './json-of.ts';
import { SettingError } from './setting-error.ts';

/** Elements of a list: an array, JSON text of an array, or words separated by commas or spaces. Throws SettingError. */
export function listOf(value: unknown, what: string): unknown[] {
  const list = typeof value === 'string' && value.trim().startsWith('[') ? jsonOf(value) : value;
  const parts = typeof list === 'string' ? list.split(/[\s,]+/) : list;
  if (Array.isArray(parts)) return parts.filter((part) => part !== '');
  throw new SettingError(`${JSON.stringify(value)} is not a list of ${what}`);
}
