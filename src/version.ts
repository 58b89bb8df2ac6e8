import { readFileSync } from 'node:fs';

/** The folder of the code and its data files, such as SQL: `src` in tests, otherwise `dist/bundle`. */
export const FILES = new URL('./', import.meta.url);

/** The folder of gw's package. */
export const PACKAGE = new URL(FILES.pathname.endsWith('/dist/bundle/') ? '../../' : '../', FILES);

export const VERSION: string = JSON.parse(readFileSync(new URL('package.json', PACKAGE), 'utf8')).version;

/** Whether a version is lower than another, both like `1.20.3`. */
export function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}
