import { jsonOf } from './json-of.ts';
import { SettingError } from './setting-error.ts';

/** The parts of a list, which is a JSON array, its text, or words separated by commas or spaces. Throws SettingError. */
export function listOf(value: unknown, what: string): unknown[] {
  const list = typeof value === 'string' && value.trim().startsWith('[') ? jsonOf(value) : value;
  const parts = typeof list === 'string' ? list.split(/[\s,]+/) : list;
  if (Array.isArray(parts)) return parts.filter((part) => part !== '');
  throw new SettingError(`${JSON.stringify(value)} is not a list of ${what}`);
}
