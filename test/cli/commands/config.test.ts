import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createConfigurationWatch } from '../../../src/store/database/write.ts';
import { cliHome } from '../cli-home.ts';

describe('gw config', () => {
  test('set writes a private file that get reads, and notifies a running daemon', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const watch = createConfigurationWatch(await cli.open());
    watch.changed();
    const { code, stderr } = await cli.run(['config', 'set', 'admission.max_wait_ms', '500']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'Set admission.max_wait_ms to 500. It applies from the next request.\n',
    });
    expect((await cli.run(['config', 'get', 'admission.max_wait_ms'])).stdout).toBe('500\n');
    expect(watch.changed()).toBe(true);
    expect(statSync(cli.paths.config).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(cli.paths.config, 'utf8'))).toEqual({ admission: { max_wait_ms: 500 } });
  });

  test('set names the broken file without printing its contents', async () => {
    const cli = cliHome();
    writeFileSync(cli.paths.config, 'sk-secret');
    expect(await cli.run(['config', 'set', 'log.level', 'debug'])).toMatchObject({
      code: 2,
      stderr: `gw: ${cli.paths.config} is not JSON: a JSON object was expected (line 1, column 1). Run: gw doctor\n`,
    });
  });

  test.each([
    ['007d', '7d'],
    ['forever', 'forever'],
    ['off', 'forever'],
  ])('set retention.requests takes %s', async (text, stored) => {
    const cli = cliHome();
    expect((await cli.run(['config', 'set', 'retention.requests', text])).code).toBe(0);
    expect((await cli.run(['config', 'get', 'retention.requests'])).stdout).toBe(`${stored}\n`);
  });

  test.each([
    ['fees.web_search', '0.010'],
    ['routing.shares.default', '30%'],
    ['tiers.gpt-5', 'strong: sandbox/a;  fast: sandbox/b; share=0.50'],
  ])('get and list print %s as it was written', async (key, text) => {
    const cli = cliHome();
    expect((await cli.run(['config', 'set', key, text])).stderr).toContain(JSON.stringify(text));
    expect((await cli.run(['config', 'get', key])).stdout).toBe(`${text}\n`);
    expect(JSON.parse((await cli.run(['config', 'list', '--json'])).stdout)[key]).toBe(text);
  });

  test('list --origin shows the source of each value, and the environment overrides the file', async () => {
    const cli = cliHome();
    await cli.run(['config', 'set', 'log.level', 'debug']);
    const { stderr } = await cli.run(['config', 'set', 'timezone', 'Asia/Tokyo']);
    expect(stderr).toContain('GW_TIMEZONE is set in the environment and overrides it.');
    const { stdout } = await cli.run(['config', 'list', '--origin']);
    expect(stdout).toMatch(/^timezone +environment GW_TIMEZONE +Europe\/Paris$/m);
    expect(stdout).toMatch(/^log\.level +config +debug$/m);
    expect(stdout).toMatch(/^limits\.max_body_bytes +default +33554432$/m);
  });

  test('list shows descriptions in full, and a long value widens only its own line', async () => {
    const cli = cliHome();
    const targets = 'openai/gpt-5, azure/gpt-5, anthropic/claude-opus-4-1 | openrouter/openai/gpt-5';
    await cli.run(['config', 'set', 'aliases.strong', targets]);
    const { stdout } = await cli.run(['config', 'list'], { columns: 80 });
    expect(stdout).not.toContain('…');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([`aliases.strong  ${targets}`]);
  });

  test('set refuses an alias that leads back to itself, and names the loop', async () => {
    const cli = cliHome();
    expect((await cli.run(['config', 'set', 'aliases.fast', 'cheap | openai/gpt-5'])).code).toBe(0);
    expect((await cli.run(['config', 'set', 'aliases.cheap', 'sandbox/echo, small'])).code).toBe(0);
    expect(await cli.run(['config', 'set', 'aliases.small', 'sandbox/free, fast'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'aliases.small: the alias leads back to itself: small > fast > cheap > small',
      ),
    });
    expect((await cli.run(['config', 'get', 'aliases.small'])).code).toBe(5);
    expect((await cli.run(['config', 'set', 'aliases.own', 'own'])).code).toBe(2);
    // Its own name means the model there.
    expect((await cli.run(['config', 'set', 'aliases.gpt-5', 'gpt-5, sandbox/echo'])).code).toBe(0);
  });

  test('warns about an alias with an unknown provider', async () => {
    const cli = cliHome();
    const { code, stderr } = await cli.run([
      'config',
      'set',
      'aliases.fast',
      'sandbox/echo | opnai/gpt-5, gpt-5',
    ]);
    expect(code).toBe(0);
    expect(stderr.split('\n').slice(1, -1)).toEqual([
      `"opnai" is not a known provider, so opnai/gpt-5 is taken as the name of a model. To add the provider: gw providers add opnai`,
    ]);
    await cli.run(['config', 'set', 'aliases.cheap', 'fast/er']);
    const valid = await cli.run(['config', 'set', 'aliases.fast', 'cheap, openai/gpt-5, gpt-5']);
    expect(valid.stderr.split('\n')).toHaveLength(2);
  });

  test('warns about a setting for an unknown project', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    for (const map of ['optimizer.projects', 'routing.shares']) {
      const value = map === 'routing.shares' ? '50%' : 'off';
      const unknown = await cli.run(['config', 'set', `${map}.wbe`, value]);
      expect([unknown.code, unknown.stderr]).toEqual([
        0,
        expect.stringContaining('There is no project "wbe" yet. See: gw projects list.'),
      ]);
      expect((await cli.run(['config', 'set', `${map}.web`, value])).stderr).not.toContain('no project');
      expect((await cli.run(['config', 'unset', `${map}.wbe`])).stderr).not.toContain('no project');
    }
  });

  test('set aliases.NAME gives a model another name, and unset removes it', async () => {
    const cli = cliHome();
    await cli.run(['config', 'set', 'aliases.gpt-4.1', 'openai/gpt-4.1-mini']);
    expect((await cli.run(['config', 'get', 'aliases.gpt-4.1'])).stdout).toBe('openai/gpt-4.1-mini\n');
    await cli.run(['config', 'unset', 'aliases.gpt-4.1']);
    expect((await cli.run(['config', 'get', 'aliases.gpt-4.1'])).code).toBe(5);
  });

  test.each([
    [['set', 'port', 'http'], 2, 'port: "http" is not a whole number from 0 to 65535'],
    [['set', 'timezone', 'Mars'], 2, 'timezone: "Mars" is not a time zone'],
    [['set', 'max_wait_ms', '1'], 5, 'Did you mean admission.max_wait_ms?'],
    [['set', 'routing.hegde', 'on'], 5, 'Did you mean routing.deadline_ms or '],
    [['get', 'aliases.none'], 5, 'no setting "aliases.none". See: gw config list'],
    [['set', 'retention.requests', '0d'], 2, '"0d" is neither a number of days, such as 90d, nor forever'],
    [['set', 'retention.requests', '90'], 2, '"90" is neither'],
    [['set', 'routing.hedge', 'on'], 2, 'routing.hedge was removed in this version of gw: gw asks a second'],
    [['set', 'routing.shadow_share', '5%'], 2, 'routing.shadow_share was removed in this version of gw: '],
    [['get', 'routing.shadow_budget'], 2, 'routing.shadow_budget was removed in this version of gw: '],
    [['unset', 'routing.hedge'], 2, 'routing.hedge was removed in this version of gw: '],
    [['get', 'colour'], 5, 'no setting "colour". See: gw config list'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['config', ...args]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  test('an invalid value in the file is reported on stderr and does not stop a command', async () => {
    const cli = cliHome();
    writeFileSync(cli.paths.config, '{"log":{"level":"loud"}}');
    const { code, stdout, stderr } = await cli.run(['config', 'get', 'log.level']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'info\n' });
    expect(stderr).toContain(`warning: ${cli.paths.config}:1:9: log.level: `);
    // status reads the settings several times.
    expect((await cli.run(['status'])).stderr.match(/warning: /g)).toHaveLength(1);
  });

  test('unset deletes from the file a setting that this version no longer has and silently ignores', async () => {
    const cli = cliHome();
    writeFileSync(cli.paths.config, '{"routing":{"hedge":"on","deadline_ms":7000}}');
    expect(await cli.run(['config', 'get', 'routing.deadline_ms'])).toMatchObject({ code: 0, stderr: '' });
    expect((await cli.run(['config', 'list'])).stdout).not.toContain('hedge');
    expect(await cli.run(['config', 'unset', 'routing.hedge'])).toMatchObject({
      code: 0,
      stderr: `Deleted routing.hedge from ${cli.paths.config}. This version of gw ignored it.\n`,
    });
    expect(JSON.parse(readFileSync(cli.paths.config, 'utf8'))).toEqual({ routing: { deadline_ms: 7000 } });
  });

  test('an invalid value in the environment stops every command with exit code 2', async () => {
    const { code, stderr } = await cliHome().run(['usage'], { env: { GW_PORT: 'x' } });
    expect(code).toBe(2);
    expect(stderr).toBe('gw: GW_PORT: "x" is not a whole number from 0 to 65535\n');
  });
});
