import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { acquireLock } from '../../src/store/database/lock.ts';
import { bumpConfigurationEpoch } from '../../src/store/database/write.ts';
import { cliHome } from '../cli/cli-home.ts';
import { PLAIN, startGateway } from '../support/gateway.ts';
import { runServe } from '../support/spawned.ts';

/** Broken settings and where the message has to point. */
const BROKEN: [string, string][] = [
  ['{"port": 4747,\n "host": }', ':2:10: the file is not JSON'],
  ['{\n  "max_wait_ms": 5\n}', ':2:3: no setting "max_wait_ms" here'],
  ['{\n  "port": "many"\n}', ':2:3: port: "many"'],
];

describe('gw with broken settings', () => {
  test.each(BROKEN)('does not start with %j', async (text, place) => {
    const home = cliHome();
    mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
    writeFileSync(home.paths.config, text, { mode: 0o600 });
    const served = runServe(home.paths.home);
    expect(await served.exited).toEqual({ code: 2, signal: null });
    expect(served.stderr()).toContain(`${home.paths.config}${place}`);
    acquireLock(home.paths.lock)?.release();
  });

  test('does not start by any command', async () => {
    const home = cliHome();
    const [text, place] = BROKEN[0] ?? ['', ''];
    mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
    writeFileSync(home.paths.config, text, { mode: 0o600 });
    for (const command of [['start'], ['restart'], ['run', '--', 'true']]) {
      const result = await home.exec(command);
      expect(result, command.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(result.stderr).toContain(`${home.paths.config}${place}`);
    }
  });

  test('starts with a retired setting, and says so', async () => {
    const home = cliHome();
    mkdirSync(home.paths.home, { recursive: true, mode: 0o700 });
    writeFileSync(home.paths.config, '{"routing": {"hedge": "on"}}', { mode: 0o600 });
    const started = await home.exec(['start', '--port', '0']);
    expect(started.code).toBe(0);
    expect(started.stderr).toMatch(/sets routing\.hedge, which this version of gw has removed/);
    await home.exec(['stop']);
  });

  test('keeps running on the last good settings, and says so', async () => {
    const gateway = await startGateway({ settings: { aliases: { fast: 'mock/test-model' } } });
    const good = readFileSync(gateway.paths.config);
    const ask = () => gateway.post({ ...PLAIN, model: 'fast' });
    expect((await ask()).status).toBe(200);
    for (const [text, place] of BROKEN) {
      writeFileSync(gateway.paths.config, text);
      bumpConfigurationEpoch(gateway.db);
      expect((await ask()).status).toBe(200);
      const said = gateway.logged.map(({ msg }) => String(msg));
      expect(said.some((msg) => msg.includes(place))).toBe(true);
      expect(said.at(-1)).toBe('gw keeps the settings that it had');
    }
    writeFileSync(gateway.paths.config, good);
    bumpConfigurationEpoch(gateway.db);
    expect((await ask()).status).toBe(200);
    const lines = gateway.logged.length;
    await ask();
    expect(gateway.logged.filter(({ level }) => Number(level) >= 40)).toHaveLength(
      gateway.logged.slice(0, lines).filter(({ level }) => Number(level) >= 40).length,
    );
  });

  test('keeps running with its providers while their keys cannot be read', async () => {
    const gateway = await startGateway();
    for (const text of ['{"mock": ', '[]', '{"mock": 5}']) {
      writeFileSync(gateway.paths.credentials, text);
      bumpConfigurationEpoch(gateway.db);
      expect((await gateway.post(PLAIN)).status).toBe(200);
      expect(JSON.stringify(gateway.upstream.requests.at(-1)?.head)).toContain('Bearer provider-key');
      expect(String(gateway.logged.at(-1)?.msg)).toContain('gw keeps the providers that it had');
    }
  });
});

describe('gw with keys that it cannot read', () => {
  test.each([
    ['broken JSON', (file: string) => writeFileSync(file, '{"openai": sk-secret')],
    ['a list', (file: string) => writeFileSync(file, '[]')],
    ['a number for a key', (file: string) => writeFileSync(file, '{"openai": 5}')],
    ['nothing in it', (file: string) => writeFileSync(file, '')],
    ['a directory', (file: string) => mkdirSync(file)],
  ])('ends at its start: %s', async (_name, make) => {
    const home = cliHome();
    await home.exec(['keys', 'create']);
    const { credentials, lock } = home.paths;
    make(credentials);
    const served = runServe(home.paths.home);
    expect(await served.exited).toMatchObject({ code: 2, signal: null });
    expect(served.stderr()).toContain(credentials);
    expect(served.stderr()).not.toContain('sk-secret');
    const free = acquireLock(lock);
    expect(free).toBeDefined();
    free?.release();
    const db = await home.open();
    expect(db.prepare('SELECT count(*) FROM daemons').pluck().get()).toBe(0);
    db.close();
  });
});

describe('a home that others may write to', () => {
  test('is refused unless the user insists', async () => {
    const home = cliHome();
    mkdirSync(home.paths.home, { recursive: true });
    chmodSync(home.paths.home, 0o777);
    const served = runServe(home.paths.home);
    expect(await served.exited).toMatchObject({ code: 2 });
    const refused = await home.exec(['start', '--port', '0']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/other users may write to .*chmod go-w .*--insecure-home/s);
    expect((await home.exec(['start', '--port', '0', '--insecure-home'])).code).toBe(0);
    expect((await home.exec(['restart', '--port', '0'])).code).toBe(2);
    expect((await home.exec(['restart', '--port', '0', '--insecure-home'])).code).toBe(0);
    await home.exec(['stop']);
  });
});
