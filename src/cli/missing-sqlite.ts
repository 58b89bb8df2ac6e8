import { dirname } from 'node:path';
import { shellQuoted } from '../shell-quoted.ts';
import type { Context } from './context.ts';

/**
 * Why better-sqlite3's native module, which its install script fetches or compiles, doesn't load, and the command that
 * mends it; undefined for other errors.
 */
export function missingSqlite(
  error: unknown,
  { program }: Pick<Context, 'program'>,
): { why: string; mend: string } | undefined {
  const all = causesOf(error);
  // Whoever has switched scripts off in npm's settings has to allow this one.
  const mend = `cd ${shellQuoted(dirname(dirname(program)))} && npm rebuild better-sqlite3 --ignore-scripts=false`;
  if (all.some(({ message }) => message.startsWith('Could not locate the bindings file')))
    return { why: 'SQLite is missing: better-sqlite3 was installed without its install script', mend };
  const fault = all.find(({ code }) => code === 'ERR_DLOPEN_FAILED');
  if (!fault) return undefined;
  const why = fault.message.includes('NODE_MODULE_VERSION')
    ? `SQLite was installed for another version of Node than ${process.versions.node}`
    : `SQLite does not load: ${fault.message.split('\n')[0]}`;
  return { why, mend };
}

function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const causes: Error[] = [];
  for (let each = error; each instanceof Error && causes.length < 10; each = each.cause) causes.push(each);
  return causes;
}
