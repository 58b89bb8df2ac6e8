import { SettingError } from './setting-error.ts';

/** Parses the http or https address of a collector; empty for none. Throws SettingError. */
export function parseCollectorAddress(value: unknown): string {
  if (value === '') return '';
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username) return url.href;
  throw new SettingError(`${JSON.stringify(value)} is not an address; an example is http://localhost:4318`);
}
