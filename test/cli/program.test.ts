import { type StdioOptions, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/cli/catalog.ts';
import type { CommandEntry } from '../../src/cli/command.ts';
import { schemaVersion } from '../../src/store/database/migrate.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { cliHome } from './cli-home.ts';

const ROOT = new URL('../../', import.meta.url);

describe('the program', () => {
  test.each([
    ['help --all', () => true],
    ['--help', ({ rare }: CommandEntry) => !rare],
  ])('lists its commands under headings with %s', async (args, isListed) => {
    const { code, stdout, stderr } = await cliHome().run(args.split(' '));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const entry of CATALOG) {
      const line = new RegExp(`^  ${entry.name}\\b`, 'm');
      if (entry.hidden || !isListed(entry)) expect(stdout).not.toMatch(line);
      else {
        expect(stdout).toContain(entry.group);
        expect(stdout).toMatch(line);
      }
    }
  });

  test('fits its help on a screen, and says where the rest is', async () => {
    const { stdout } = await cliHome().run(['--help'], { columns: 80 });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(45);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines).toContain('All commands: gw help --all');
  });

  test.each(CATALOG.map(({ name }) => name))('gw %s --help shows its usage', async (name) => {
    const { code, stdout } = await cliHome().run([name, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(`Usage: gw ${name}`);
    expect((await cliHome().run(['help', name])).stdout).toBe(stdout);
  });

  test.each([
    [['help', 'usge'], "gw: unknown command 'usge'\n(Did you mean usage?)\nSee: gw --help\n"],
    [['usge'], "gw: unknown command 'usge'\n(Did you mean usage?)\nSee: gw --help\n"],
    [
      ['usage', '--form', '7d'],
      "gw: unknown option '--form'\n(Did you mean --from?)\nSee: gw usage --help\n",
    ],
    [['keys', 'creat'], "gw: unknown command 'creat'\n(Did you mean create?)\nSee: gw keys --help\n"],
  ])('%j exits with 2 and suggests a name', async (args, message) => {
    expect(await cliHome().run(args)).toEqual({ code: 2, stdout: '', stderr: message });
  });

  test('prints errors without a stack trace, and with one under GW_DEBUG', async () => {
    const cli = cliHome();
    mkdirSync(cli.paths.database);
    const plain = await cli.run(['usage']);
    expect(plain.code).toBe(1);
    expect(plain.stderr).toMatch(/^gw: cannot open the database .*Run: gw doctor\n$/);
    expect((await cli.run(['usage'], { env: { GW_DEBUG: '1' } })).stderr).toMatch(/\n +at /);
  });

  test('points to gw doctor when the database fails during a command', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    const db = await cli.open();
    const page = Number(
      db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'projects'").pluck().get(),
    );
    const size = Number(db.pragma('page_size', { simple: true }));
    db.close();
    const bytes = readFileSync(cli.paths.database);
    writeFileSync(cli.paths.database, bytes.fill(0xff, (page - 1) * size, page * size));
    expect(await cli.run(['projects', 'add', 'app'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'gw: database disk image is malformed. Run: gw doctor\n',
    });
  });
});

describe('bin/gw', () => {
  test.runIf(existsSync('/dev/full'))('survives output streams that are full', () => {
    const full = openSync('/dev/full', 'w');
    const env = { PATH: process.env.PATH, GW_HOME: tmpHome() };
    const gw = (args: string[], stdio: StdioOptions) =>
      spawnSync(process.execPath, [fileURLToPath(new URL('bin/gw', ROOT)), ...args], { env, stdio });
    const set = gw(['budget', 'set', '6'], ['ignore', 'pipe', full]);
    expect(set.status).toBe(0);
    const list = gw(['budget', 'list'], ['ignore', full, 'pipe']);
    expect([list.status, `${list.stderr}`]).toEqual([
      1,
      'gw: cannot write the output: ENOSPC: no space left on device, write\n',
    ]);
    expect(`${gw(['budget', 'list'], 'pipe').stdout}`).toContain('$6.00');
    closeSync(full);
  });

  test.runIf(process.platform !== 'win32')(
    'says which file it could not write, and why, and leaves it as it was',
    async () => {
      const cli = cliHome();
      const long = `sandbox/${'a'.repeat(600)}`;
      await cli.run(['config', 'set', 'log.level', 'debug']);
      const before = readFileSync(cli.paths.config, 'utf8');
      // The limit still allows one block, so part of the file could be written.
      expect(cli.limited(1, ['config', 'set', 'aliases.long', long]).stderr).toBe(
        `gw: cannot write ${cli.paths.config}: it would be larger than a file may be here. See: ulimit -f\n`,
      );
      expect(readFileSync(cli.paths.config, 'utf8')).toBe(before);
      expect(readdirSync(cli.paths.home).filter((name) => name.startsWith('config'))).toEqual([
        'config.json',
      ]);
    },
  );

  test('--version prints the version, the commit and the schema', async () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
      version: string;
    };
    const { code, stdout, stderr } = await cliHome().exec(['--version']);
    expect([code, stderr]).toEqual([0, '']);
    const [first, ...rest] = stdout.trimEnd().split(' ');
    expect(first).toBe(version);
    expect(rest.join(' ')).toMatch(new RegExp(`^\\(([0-9a-f]{7,}|no commit), schema ${schemaVersion()}\\)$`));
  });

  test('usage loads no drizzle, conf, zod or undici, and --version loads none of gw', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const chunks = readdirSync(new URL('dist/bundle', ROOT));
    expect(chunks).toEqual(expect.arrayContaining(['conf.js', 'drizzle-orm.js', 'ink.js', 'zod.js']));
    const usage = await loadedBy(cli, ['usage']);
    expect(usage.some((url) => url.includes('/better-sqlite3/'))).toBe(true);
    expect(usage.filter((url) => /drizzle|\/(conf|zod|ink)\.js$|\/undici\/|string-width/.test(url))).toEqual(
      [],
    );
    expect((await loadedBy(cli, ['--version'])).filter((url) => /\/dist\/|node_modules/.test(url))).toEqual(
      [],
    );
  });

  test('says what to do in a checkout that is not built', async () => {
    const copy = tmpHome();
    await cp(new URL('bin', ROOT), join(copy, 'bin'), { recursive: true });
    await cp(new URL('package.json', ROOT), join(copy, 'package.json'));
    const message = () =>
      spawnSync(process.execPath, [join(copy, 'bin/gw'), 'usage'], { encoding: 'utf8' }).stderr;
    expect(message()).toBe('gw: this checkout is not built yet. Run: npm install && npm run build\n');
    await symlink(new URL('node_modules', ROOT), join(copy, 'node_modules'));
    expect(message()).toBe('gw: this checkout is not built yet. Run: npm run build\n');
  });
});

/** URLs of the scripts that a command loads, from V8's coverage. */
async function loadedBy(cli: ReturnType<typeof cliHome>, args: string[]): Promise<string[]> {
  const folder = join(cli.paths.home, `coverage-${args[0]}`);
  const { code } = await cli.exec(args, { env: { NODE_V8_COVERAGE: folder } });
  expect(code).toBe(0);
  return readdirSync(folder).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  });
}
