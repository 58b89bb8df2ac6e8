import { listOf } from './list-of.ts';
import { SettingError } from './setting-error.ts';
import type { Written } from './written.ts';

/** A list of host names; `written` is `a.example.com,b.example.com`. */
export interface HostNames extends Written {
  names: readonly string[];
}

/** Letters, digits, `-` and `_` between dots. No port, and no wildcard, which would admit pages of any site. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** Parses names separated by commas or spaces, or a JSON array. Throws SettingError. */
export function parseHostNames(value: unknown): HostNames {
  const names = listOf(value, 'host names').map(parseName);
  return { names, written: names.join(',') };
}

function parseName(part: unknown): string {
  const name = typeof part === 'string' ? part.toLowerCase() : '';
  if (HOST_NAME.test(name)) return name;
  throw new SettingError(`${JSON.stringify(part)} is not a host name; an example is gw.example.com`);
}
