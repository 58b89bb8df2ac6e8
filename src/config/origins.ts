import { listOf } from './list-of.ts';
import { SettingError } from './setting-error.ts';
import type { Written } from './written.ts';

/** A list of origins as browsers send them; `written` is `http://localhost:3000,app://obsidian.md`. */
export interface Origins extends Written {
  origins: readonly string[];
}

/** A scheme and a host with an optional port. No wildcard, path or user, and not the word `null`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(?::\d{1,5})?$/;

/** Parses origins separated by commas or spaces, or a JSON array. Throws SettingError. */
export function parseOrigins(value: unknown): Origins {
  const origins = listOf(value, 'origins').map(parseOrigin);
  return { origins, written: origins.join(',') };
}

/**
 * Whether a text is an origin as browsers send it, without a default port:
 * https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin
 */
export function isExactOrigin(text: string): boolean {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

function parseOrigin(part: unknown): string {
  if (typeof part === 'string' && isExactOrigin(part)) return part;
  throw new SettingError(
    `${JSON.stringify(part)} is not an exact origin: a scheme and a host, such as http://localhost:3000 or app://obsidian.md, without a path`,
  );
}
