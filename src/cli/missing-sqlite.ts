import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { orElse } from '../errors.ts';
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
  const folder = shellQuoted(dirname(dirname(program)));
  const mend = `cd ${folder} && npm rebuild better-sqlite3 --ignore-scripts=false`;
  if (all.some(({ message }) => message.startsWith('Could not locate the bindings file')))
    return { why: 'SQLite is missing: better-sqlite3 was installed without its install script', mend };
  // Version 13 comes with its binaries, and has no install script.
  if (all.some(({ message }) => /^Cannot find module .*better_sqlite3\.node/.test(message))) {
    const why = `SQLite is missing: better-sqlite3 has no binary for ${process.platform} ${process.arch}`;
    return { why, mend: `cd ${folder} && npm install --omit=dev --no-save better-sqlite3@12` };
  }
  const fault = all.find(({ code }) => code === 'ERR_DLOPEN_FAILED');
  if (!fault) return undefined;
  const why = fault.message.includes('NODE_MODULE_VERSION')
    ? `SQLite was installed for another version of Node than ${process.versions.node}`
    : `SQLite does not load: ${fault.message.split('\n')[0]}`;
  return { why, mend };
}

const { resolve } = createRequire(import.meta.url);

/**
 * Why this Node aborts the process at some garbage collection: better-sqlite3's native module was compiled with headers of
 * Node 24.19 or later, and the 24s (tried up to 24.21), and those before 26.4, can't run that:
 * https://github.com/nodejs/node/issues/65446, https://github.com/nodejs/node/issues/65262
 */
export function abortingSqlite(
  { program }: Pick<Context, 'program'>,
  { version = process.versions.node, module }: { version?: string; module?: string } = {},
): { why: string; mend: string } | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major !== 24 && !(major === 26 && minor < 4)) return undefined;
  if (!orElse(() => readFileSync(module ?? sqliteModule()).includes('RemoveEnvironmentCleanupHook'), false))
    return undefined;
  return {
    why: `Node ${version} ends gw at random with the SQLite that was compiled for it (https://github.com/nodejs/node/issues/65446)`,
    mend: `cd ${shellQuoted(dirname(dirname(program)))} && npm install --omit=dev --no-save better-sqlite3@13`,
  };
}

export const sqliteModule = (): string =>
  join(dirname(resolve('better-sqlite3/package.json')), 'build/Release/better_sqlite3.node');

function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const causes: Error[] = [];
  for (let each = error; each instanceof Error && causes.length < 10; each = each.cause) causes.push(each);
  return causes;
}
