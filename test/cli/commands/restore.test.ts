import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/database/open.ts';
import { createGate } from '../../support/gate.ts';
import { PLAIN, startGateway } from '../../support/gateway.ts';
import { metered } from '../../support/metered.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

const PASSPHRASE = 'correct horse battery';

/** A home with a project, a budget, a request, settings and provider keys, and a backup of it. */
async function backedUp(...options: string[]) {
  const cli = cliHome();
  await cli.run(['projects', 'add', 'web']);
  await cli.run(['budget', 'set', '7', '-p', 'web']);
  await cli.record({ timeMs: cli.clock.now(), costNanoUsd: 5 });
  await cli.run(['config', 'set', 'optimizer.level', 'balanced']);
  writeFileSync(cli.paths.credentials, JSON.stringify({ openai: 'sk-secret-1' }), { mode: 0o600 });
  const file = join(cli.paths.home, 'backup.db');
  const backup = await cli.run(['backup', file, ...options], { stdin: PASSPHRASE });
  if (backup.code !== 0) throw new Error(backup.stderr);
  return { cli, file };
}

/** The names and bytes of all files in a home. */
function stateOf({ paths }: CliHome): [string, string][] {
  return readdirSync(paths.home)
    .filter((name) => !/daemon\.lock|-shm$|-wal$/.test(name))
    .map((name) => [name, readFileSync(join(paths.home, name)).toString('base64')]);
}

describe('gw restore', () => {
  test('brings database, settings and keys back on another machine', async () => {
    const { file } = await backedUp('--with-keys', '--stdin');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file).includes('sk-secret-1')).toBe(false);
    const other = cliHome();
    const restored = await other.run(['restore', file, '--stdin'], { stdin: `${PASSPHRASE}\n` });
    expect([restored.code, restored.stderr]).toEqual([
      0,
      `Restored ${file}: 1 request, 2 projects, the settings, provider keys. To start it: gw start\n`,
    ]);
    expect(await other.json(['budget', 'list'])).toMatchObject([{ id: 'web/daily', cap_usd: 7 }]);
    expect(await other.json(['requests'])).toHaveLength(1);
    expect((await other.run(['config', 'get', 'optimizer.level'])).stdout).toBe('balanced\n');
    expect(JSON.parse(readFileSync(other.paths.credentials, 'utf8'))).toEqual({ openai: 'sk-secret-1' });
    expect(statSync(other.paths.credentials).mode & 0o777).toBe(0o600);
    const db = await openDatabase(other.paths.database);
    expect(db.prepare("SELECT name FROM sqlite_schema WHERE name = 'backup_files'").all()).toEqual([]);
    db.close();
    expect(readdirSync(other.paths.home).filter((name) => /restore|partial|\.bak$/.test(name))).toEqual([]);
  });

  test('takes a backup of a running gw, whose open holds are closed at the next start', async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 5 } });
    const gate = createGate();
    gateway.upstream.queue(metered({ tokens: 9, perTick: 9, tick: gate.pass }));
    const running = gateway.post({ ...PLAIN, max_tokens: 50 });
    await gateway.upstream.nextRequest();
    const source = cliHome();
    source.paths = gateway.paths;
    const file = join(source.env.HOME ?? '', 'running.db');
    expect((await source.run(['backup', file])).code).toBe(0);
    gate.openForGood();
    await running;
    const other = cliHome();
    expect((await other.run(['restore', file])).code).toBe(0);
    const restored = await startGateway({ home: other.paths.home, upstream: gateway.upstream });
    expect(await restored.settled(1)).toMatchObject([{ outcome: 'crashed', flags: ['estimated'] }]);
  });

  test('without --with-keys, leaves the stored keys as they are', async () => {
    const { file } = await backedUp();
    expect(readFileSync(file).includes('sk-secret-1')).toBe(false);
    const other = cliHome();
    await other.run(['projects', 'list']);
    writeFileSync(other.paths.credentials, '{"openai":"sk-other"}', { mode: 0o600 });
    expect((await other.run(['restore', file, '--yes'])).code).toBe(0);
    expect(readFileSync(other.paths.credentials, 'utf8')).toBe('{"openai":"sk-other"}');
  });

  test('never overwrites without --yes, and says what would be lost', async () => {
    const { cli, file } = await backedUp();
    await cli.record({ timeMs: cli.clock.now() + 1 });
    const before = stateOf(cli);
    expect(await cli.run(['restore', file])).toMatchObject({
      code: 2,
      stderr: `gw: This replaces the database with 2 requests, the settings in ${cli.paths.home}, which are lost. To keep them first: gw backup FILE. To go ahead, add --yes\n`,
    });
    const asked = await cli.run(['restore', file], { tty: true, stdin: 'n\n' });
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('nothing was changed')]);
    expect(stateOf(cli)).toEqual(before);
    expect((await cli.run(['restore', file], { tty: true, stdin: 'y\n' })).code).toBe(0);
    expect(await cli.json(['requests'])).toHaveLength(1);
  });

  test('changes nothing with a wrong passphrase, or none', async () => {
    const { cli, file } = await backedUp('--with-keys', '--stdin');
    const before = stateOf(cli);
    const wrong = await cli.run(['restore', file, '--yes', '--stdin'], { stdin: 'correct horse batterx' });
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      `gw: the passphrase does not open the keys in ${file}. Nothing was changed. To leave them in it: --no-keys\n`,
    ]);
    const none = await cli.run(['restore', file, '--yes']);
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('no terminal to ask for the passphrase'),
    ]);
    expect(stateOf(cli)).toEqual(before);
    expect((await cli.run(['restore', file, '--yes', '--no-keys'])).code).toBe(0);
  });

  test.each([
    ['is no database', (file: string) => writeFileSync(file, 'hello'), /it is no backup, or damaged/],
    ['is empty', (file: string) => writeFileSync(file, ''), /it is a database, but not one of gw/],
    [
      'is cut short',
      (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 40_960)),
      /damaged/,
    ],
    [
      'has a page of noise',
      (file: string) => writeFileSync(file, readFileSync(file).fill(0xa5, 8_192, 12_288)),
      /damaged/,
    ],
    [
      'comes from a newer gw',
      async (file: string) => {
        const db = await openDatabase(file);
        db.pragma('user_version = 999');
        db.pragma('journal_mode = DELETE');
        db.close();
      },
      /a newer gw has written it \(schema 999, this gw knows \d+\)\. Update gw first/,
    ],
  ])('changes nothing if the backup %s', async (_, damage, message) => {
    const { cli, file } = await backedUp();
    await damage(file);
    const before = stateOf(cli);
    const { code, stderr } = await cli.run(['restore', file, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    expect(stderr).toMatch(/^gw: .*backup\.db can't be restored: .*Nothing was changed\n$/s);
    expect(stateOf(cli)).toEqual(before);
  });

  test('changes nothing if the settings in it are not valid', async () => {
    const { cli, file } = await backedUp();
    const db = await openDatabase(file);
    db.prepare("UPDATE backup_files SET content = ? WHERE name = 'config.json'").run(
      Buffer.from('{"port": '),
    );
    db.pragma('journal_mode = DELETE');
    db.close();
    const before = stateOf(cli);
    const { code, stderr } = await cli.run(['restore', file, '--yes']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('the settings in it are not JSON. Nothing')]);
    expect(stateOf(cli).filter(([name]) => !name.startsWith('backup'))).toEqual(
      before.filter(([name]) => !name.startsWith('backup')),
    );
  });

  test('refuses while gw runs', async () => {
    const { file } = await backedUp();
    const gateway = await startGateway();
    const cli = cliHome();
    cli.paths = gateway.paths;
    expect(await cli.run(['restore', file, '--yes'])).toMatchObject({
      code: 1,
      stderr: `gw: gw is running in ${gateway.paths.home}. First: gw stop\n`,
    });
    const sharing = cliHome();
    sharing.paths = { ...sharing.paths, database: gateway.paths.database };
    expect(await sharing.run(['restore', file, '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^gw: gw \(pid \d+\) is using .*gw\.db\. Stop it first/),
    });
  });

  test('says that there is no such file', async () => {
    expect(await cliHome().run(['restore', '/nowhere/x.db'])).toMatchObject({
      code: 5,
      stderr: 'gw: there is no file /nowhere/x.db\n',
    });
  });
});

describe('a restore that is killed', () => {
  /** Files as a restore leaves them when it is killed before, or after, it has decided. */
  async function killed({ decided, renamed }: { decided: boolean; renamed: number }) {
    const { cli, file } = await backedUp();
    await cli.record({ timeMs: cli.clock.now() + 1 });
    const source = cliHome();
    await source.run(['restore', file]);
    const { paths } = cli;
    const pairs = [
      [source.paths.database, paths.database],
      [source.paths.config, paths.config],
    ] as const;
    for (const [from, to] of pairs) copyFileSync(from, `${to}.restore`);
    const replacements = pairs.map(([, to]) => ({ from: `${to}.restore`, to }));
    await cli.run(['config', 'set', 'optimizer.level', 'off']);
    const marker = join(paths.home, decided ? 'restore.json' : 'restore.json.new');
    writeFileSync(marker, JSON.stringify(replacements));
    for (const { from, to } of replacements.slice(0, renamed)) {
      copyFileSync(from, to);
      writeFileSync(`${to}-wal`, '');
      rmSync(from);
    }
    return { cli, marker };
  }

  test.each([0, 1, 2])(
    'after it has decided and replaced %i files is finished by the next command',
    async (renamed) => {
      const { cli, marker } = await killed({ decided: true, renamed });
      expect(await cli.json(['requests'])).toHaveLength(1);
      expect((await cli.run(['config', 'get', 'optimizer.level'])).stdout).toBe('balanced\n');
      expect(existsSync(marker)).toBe(false);
    },
  );

  test('before it has decided changes nothing', async () => {
    const { cli } = await killed({ decided: false, renamed: 0 });
    expect(await cli.json(['requests'])).toHaveLength(2);
    expect((await cli.run(['config', 'get', 'optimizer.level'])).stdout).toBe('off\n');
  });
});

describe('gw backup --with-keys', () => {
  test.each([
    [['--with-keys'], '', 'no terminal to ask for the passphrase on'],
    [['--with-keys', '--stdin'], 'short', 'the passphrase is shorter than 8 characters; nothing was written'],
  ])('%j refuses the passphrase %j', async (options, stdin, message) => {
    const cli = cliHome();
    const file = join(cli.paths.home, 'backup.db');
    const { code, stderr } = await cli.run(['backup', file, ...options], { stdin });
    expect([code, stderr, existsSync(file)]).toEqual([2, expect.stringContaining(message), false]);
  });
});
