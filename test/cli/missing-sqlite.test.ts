import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { abortingSqlite, missingSqlite, sqliteModule } from '../../src/cli/missing-sqlite.ts';
import { unavailable } from '../../src/errors.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { execute } from './cli-home.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Version 13 has its binaries in the package. */
const HAS_BINARIES = existsSync(join(ROOT, 'node_modules/better-sqlite3/prebuilds'));

/** gw as it is installed, but without better-sqlite3. */
function installWithoutSqlite(): { folder: string; sqlite: string } {
  const folder = join(tmpHome(), 'gw');
  for (const part of ['bin', 'dist/bundle', 'package.json'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== 'better-sqlite3') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  return { folder, sqlite: join(modules, 'better-sqlite3') };
}

function runIn(folder: string, ...args: string[]) {
  const env = { GW_HOME: tmpHome(), HOME: tmpHome(), PATH: process.env.PATH ?? '' };
  return execute(spawn(process.execPath, [join(folder, 'bin/gw'), ...args], { env }));
}

test('gw whose SQLite has no binary says what is missing, and the command that mends it', async () => {
  const { folder, sqlite } = installWithoutSqlite();
  cpSync(join(ROOT, 'node_modules/better-sqlite3'), sqlite, {
    recursive: true,
    filter: (path) => !/better-sqlite3\/(build|deps|prebuilds|src)$/.test(path),
  });
  const run = (...args: string[]) => runIn(folder, ...args);
  const said = HAS_BINARIES
    ? `gw: SQLite is missing: better-sqlite3 has no binary for ${process.platform} ${process.arch}. Run: cd ${folder} && npm install --omit=dev --no-save better-sqlite3@12\n`
    : `gw: SQLite is missing: better-sqlite3 was installed without its install script. Run: cd ${folder} && npm rebuild better-sqlite3 --ignore-scripts=false\n`;
  for (const args of [['status'], ['start'], ['budget', 'list', '--json']])
    expect(await run(...args)).toMatchObject({ code: 1, stdout: '', stderr: said });
  expect(await run('--version')).toMatchObject({ code: 0 });
  const doctor = await run('doctor');
  expect(doctor.code).toBe(1);
  expect(doctor.stdout.replace(/\s+/g, ' ')).toContain('install SQLite is missing');
});

test.each([
  [
    'is missing',
    undefined,
    'SQLite is missing: Cannot find module \'better-sqlite3/package.json\'. Run: cd "FOLDER" && npm install --omit=dev',
  ],
  [
    'would crash this Node',
    '>=99',
    `better-sqlite3 98.1.0 needs Node 99 and would crash Node ${process.versions.node}. Run: cd "FOLDER" && npm install --omit=dev --no-save better-sqlite3@12`,
  ],
])('a better-sqlite3 that %s is never loaded', async (_how, node, said) => {
  const { folder, sqlite } = installWithoutSqlite();
  if (node !== undefined) {
    mkdirSync(sqlite);
    writeFileSync(
      join(sqlite, 'package.json'),
      JSON.stringify({ name: 'better-sqlite3', version: '98.1.0', engines: { node } }),
    );
    writeFileSync(join(sqlite, 'index.js'), 'process.abort();');
  }
  for (const args of [['start'], ['statusline']])
    expect(await runIn(folder, ...args)).toEqual({
      code: 1,
      stdout: '',
      stderr: `gw: ${said.replace('FOLDER', `${folder}/`)}\n`,
    });
  expect(await runIn(folder, '--version')).toMatchObject({ code: 0 });
});

const context = { program: '/opt/my gw/bin/gw' };

test('a binary of another version of Node, or of another machine, is told from other errors', () => {
  const dlopen = (message: string) => Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
  const other = dlopen("The module 'x.node'\nwas compiled using NODE_MODULE_VERSION 115. This requires 127.");
  const wrapped = unavailable('cannot open the database', 'storage_unavailable', other);
  expect(missingSqlite(wrapped, context)).toEqual({
    why: `SQLite was installed for another version of Node than ${process.versions.node}`,
    mend: "cd '/opt/my gw' && npm rebuild better-sqlite3 --ignore-scripts=false",
  });
  expect(missingSqlite(dlopen('x.node: invalid ELF header\nmore'), context)?.why).toBe(
    'SQLite does not load: x.node: invalid ELF header',
  );
  const absent = "Cannot find module '/opt/x/build/Release/better_sqlite3.node'\nRequire stack:";
  expect(
    missingSqlite(unavailable('cannot open', 'storage_unavailable', new Error(absent)), context),
  ).toEqual({
    why: `SQLite is missing: better-sqlite3 has no binary for ${process.platform} ${process.arch}`,
    mend: "cd '/opt/my gw' && npm install --omit=dev --no-save better-sqlite3@12",
  });
  expect(missingSqlite(new Error('disk I/O error'), context)).toBeUndefined();
});

test('a binary that some versions of Node abort with is told by what it was compiled with', () => {
  const compiledWith = (headers: string, content: string) => {
    const module = join(tmpHome(), `${headers}.node`);
    writeFileSync(module, content);
    return module;
  };
  const aborting = compiledWith('24.19', '\0ELF _ZN4node28RemoveEnvironmentCleanupHookEPN2v87IsolateE\0');
  const other = compiledWith('24.18', '\0ELF _ZN4node25AddEnvironmentCleanupHookEPN2v87IsolateE\0');
  const isTold = (version: string, module: string) =>
    abortingSqlite(context, { version, module }) !== undefined;
  const versions = ['20.19.0', '22.20.0', '24.9.0', '24.21.0', '25.9.0', '26.3.1', '26.4.0'];
  expect(versions.filter((version) => isTold(version, aborting))).toEqual(['24.9.0', '24.21.0', '26.3.1']);
  expect(versions.filter((version) => isTold(version, other))).toEqual([]);
  expect(isTold('24.21.0', join(tmpHome(), 'none'))).toBe(false);
  expect(abortingSqlite(context, { version: '24.21.0', module: aborting })).toEqual({
    why: expect.stringMatching(/^Node 24\.21\.0 ends gw at random/),
    mend: "cd '/opt/my gw' && npm install --omit=dev --no-save better-sqlite3@13",
  });
});

test.skipIf(HAS_BINARIES)("this installation's binary is read", () => {
  expect(readFileSync(sqliteModule()).includes('AddEnvironmentCleanupHook')).toBe(true);
});
