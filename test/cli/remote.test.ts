import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CATALOG } from '../../src/cli/catalog.ts';
import { clientVariables, googleVariables } from '../../src/cli/client/variables.ts';
import { VERSION } from '../../src/version.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { type CliHome, cliHome, stopAfterwards } from './cli-home.ts';

interface Pair {
  /** The machine that gw runs on. */
  server: CliHome;
  /** Another one, whose commands go there. */
  away: CliHome;
  url: string;
  adminKey: string;
}

/** A running gw, and a second state directory with `GW_URL` and `GW_KEY`. */
async function pair(): Promise<Pair> {
  const server = cliHome({ timezone: 'UTC' });
  stopAfterwards(server);
  const { base_url } = JSON.parse((await server.exec(['start', '--json'])).stdout) as { base_url: string };
  const { key } = await server.json<{ key: string }>(['keys', 'create', '--admin']);
  const away = cliHome({ timezone: 'UTC' });
  server.clock = createVirtualClock(Date.now());
  away.clock = createVirtualClock(Date.now());
  const url = base_url.replace(/\/v1$/, '');
  Object.assign(away.env, { GW_URL: url, GW_KEY: key });
  return { server, away, url, adminKey: key };
}

/** A command that has to succeed. */
async function good(cli: CliHome, ...args: string[]) {
  const result = await cli.run(args);
  expect(result).toMatchObject({ code: 0 });
  return result;
}

describe('commands from another machine', () => {
  test('manage budgets as commands on the machine do', async () => {
    const { server, away } = await pair();
    const set = ['budget', 'set', '2', '--alert', '50', '--json'];
    const answer = JSON.parse((await good(away, ...set)).stdout);
    expect(answer).toMatchObject({ id: 'default/daily', cap_nano_usd: 2e9, alert_percent: 50 });
    expect(await server.json(['budget', 'list'])).toEqual([answer]);
    expect(JSON.parse((await good(server, ...set)).stdout)).toEqual(answer);
    expect((await good(away, 'budget', 'set', '--max-rate', '0.50/10m')).stderr).toBe(
      'Budget default/rolling: $0.00 spent of $0.50 in 10m, alert at 80%. It applies from the next request.\n',
    );
    const daily = await good(away, 'budget', 'set', '0.000000001', '--period', 'monthly');
    expect(daily.stderr).toMatch(
      /^Budget default\/monthly: \$0\.00 spent of \$0\.000000001, .*resets .* \(UTC\)/,
    );

    const unclear = await away.run(['budget', 'remove']);
    expect([unclear.code, unclear.stderr]).toEqual([
      2,
      expect.stringContaining('3 budgets match. Choose one:'),
    ]);
    expect((await good(away, 'budget', 'remove', 'default/monthly')).stderr).toBe(
      'Removed budget default/monthly.\n',
    );
    await good(away, 'budget', 'remove', '--period', 'rolling');
    expect(await server.json(['budget', 'list'])).toHaveLength(1);
    expect((await away.run(['budget', 'remove', 'web/daily'])).code).toBe(5);
    expect((await away.run(['budget', 'set', '1', '-p', 'nobody'])).code).toBe(5);
  }, 60_000);

  test('manage keys and webhooks', async () => {
    const { server, away, url } = await pair();
    await server.run(['projects', 'add', 'web']);
    const made = JSON.parse(
      (await good(away, 'keys', 'create', '-p', 'web', '--label', 'ci', '--json')).stdout,
    ) as { id: number; key: string };
    expect(await server.json(['keys', 'list', '-p', 'web'])).toMatchObject([
      { id: made.id, label: 'ci', admin: false },
    ]);
    const asked = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${made.key}` } });
    expect(asked.status).toBe(200);

    const web = { GW_KEY: made.key };
    const refused = await away.run(['keys', 'create'], { env: web });
    expect(refused).toMatchObject({
      code: 4,
      stderr:
        'gw: this key belongs to project web and may not use "default". Use a key of that project, or an admin key\n',
    });
    expect((await away.run(['budget', 'set', '1'], { env: web })).code).toBe(4);
    for (const command of [['backtest', '1'], ['suggest']]) {
      const { code, stdout } = await away.run(['budget', ...command, '--json'], { env: web });
      expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ project_id: 'web' })]);
    }
    // A bill is of all projects.
    const bill = join(away.paths.home, 'bill.csv');
    writeFileSync(bill, 'date,model,cost_usd\n2026-01-05,gpt-5,1\n');
    const reconcile = ['reconcile', 'openai', '--csv', bill];
    expect(await away.run(reconcile, { env: web })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('this key sees only the project web'),
    });
    expect(await away.run(reconcile)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('only billed'),
    });

    const added = await away.run(['webhooks', 'add', 'https://example.com/hook', '--json'], { env: web });
    const { id } = JSON.parse(added.stdout) as { id: string };
    expect(JSON.parse(added.stdout)).toMatchObject({
      project_id: 'web',
      secret: expect.stringMatching(/^whsec_/),
    });
    expect(await server.json(['webhooks', 'list'])).toMatchObject([{ id, project_id: 'web' }]);
    expect(JSON.parse((await good(away, 'webhooks', 'list', '--json')).stdout)).toMatchObject([{ id }]);
    for (const change of ['disable', 'enable']) {
      expect((await good(away, 'webhooks', change, id)).stderr).toBe(`Webhook ${id} is ${change}d.\n`);
    }
    expect((await good(away, 'webhooks', 'rotate', id)).stdout).toMatch(/^whsec_/);
    expect((await good(away, 'webhooks', 'deliveries', id, '--since', '2h', '--json')).stdout).toBe('[]\n');
    expect((await good(away, 'webhooks', 'replay', '--failed', '--since', '2h')).stderr).toBe(
      'No failed deliveries to resend.\n',
    );
    expect((await away.run(['webhooks', 'replay', 'dlv_7'])).code).toBe(5);
    await good(away, 'webhooks', 'remove', id);
    expect(await server.json(['webhooks', 'list'])).toEqual([]);

    await good(away, 'keys', 'revoke', String(made.id));
    expect(await away.run(['keys', 'revoke', '1'], { env: web })).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(`${url} does not know the key, or it was revoked.`),
    });
    // Nothing of all this is kept here.
    expect(existsSync(away.paths.database)).toBe(false);
  }, 60_000);

  test('point clients at it: env, run and an SDK', async () => {
    const { server, away, url, adminKey } = await pair();
    expect((await good(away, 'env')).stdout).toContain(`export OPENAI_BASE_URL='${url}/v1'`);
    expect(JSON.parse((await good(away, 'env', '--json')).stdout)).toEqual({
      ...clientVariables({ origin: url, key: adminKey }, away.env),
      ...googleVariables({ origin: url, key: adminKey }, away.env),
    });
    expect(await away.run(['env', '-p', 'web'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`the key for ${url} belongs to project default, not to web`),
    });
    const script = `const { default: OpenAI } = await import('${createRequire(import.meta.url).resolve('openai')}'); const answer = await new OpenAI().chat.completions.create({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }); console.log(answer.choices.length)`;
    const args = ['run', '--', process.execPath, '--input-type=module', '-e', script];
    expect(await away.exec(args)).toMatchObject({ code: 0, stdout: '1\n', stderr: '' });
    // An answer may be there before the commit of its record.
    await expect.poll(() => server.json(['usage'])).toMatchObject({ total: { requests: 1 } });
    expect((await away.exec(args, { env: { GW_KEY: 'sk-gw-wrong' } })).code).toBe(4);

    // The same gw under another name, as containers call it, with the key of the machine.
    const own = JSON.parse((await good(server, 'env', '--json')).stdout) as Record<string, string>;
    const named = await good(server, 'env', '--url', 'http://host.docker.internal:4747/v1', '--json');
    expect(JSON.parse(named.stdout)).toMatchObject({
      OPENAI_BASE_URL: 'http://host.docker.internal:4747/v1',
      OPENAI_API_KEY: own.OPENAI_API_KEY,
    });
    expect(named.stderr).toContain('No key is known for http://host.docker.internal:4747');
    const elsewhere = { GW_URL: '', GW_KEY: adminKey };
    const byUrl = await away.run(['env', '--url', url, '--json'], { env: elsewhere });
    expect(JSON.parse(byUrl.stdout)).toMatchObject({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: adminKey,
    });
  }, 60_000);

  test('say on a terminal which gw answers, and nothing to a script', async () => {
    const { away, url } = await pair();
    expect((await away.run(['keys', 'create'], { tty: true, columns: 200 })).stderr).toMatch(
      new RegExp(`^gw at ${url}\n`),
    );
    expect((await away.run(['keys', 'create'])).stderr).not.toContain('gw at');
  }, 60_000);

  test('go where gw login says, until gw logout', async () => {
    const { server, away, url, adminKey } = await pair();
    delete away.env.GW_URL;
    delete away.env.GW_KEY;
    const wrong = await away.run(['login', url, '--key-stdin'], { stdin: 'sk-gw-wrong\n' });
    expect(wrong).toMatchObject({ code: 4, stderr: expect.stringContaining(`${url} does not know the key`) });
    expect(existsSync(away.paths.login)).toBe(false);
    expect((await away.run(['login', url])).code).toBe(2);

    const typed = await away.run(['login', url], { stdin: `${adminKey}\n`, tty: true, columns: 400 });
    expect(typed).toMatchObject({ code: 0, stdout: '' });
    expect(typed.stderr).toBe(
      `Key for ${url} (not shown): \nLogged in to ${url} (gw ${VERSION}) with an admin key of project default. Commands use this gw now; to end that: gw logout\n`,
    );
    expect(statSync(away.paths.login).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(away.paths.login, 'utf8'))).toEqual({ url, key: adminKey });
    await good(away, 'budget', 'set', '3');
    expect(await server.json(['budget', 'list'])).toMatchObject([{ cap_usd: 3 }]);

    expect(await away.run(['start'])).toMatchObject({
      code: 2,
      stderr: `gw: gw start is for the gw of this machine, but gw login chose ${url}. Run it on that machine; for this one: GW_URL= gw ..., or gw logout\n`,
    });
    expect((await away.run(['budget', 'list', '--json'], { env: { GW_URL: '' } })).stdout).toBe('[]\n');

    expect((await good(away, 'logout')).stderr).toContain(`Logged out of ${url}.`);
    expect(existsSync(away.paths.login)).toBe(false);
    expect((await good(away, 'logout')).stderr).toBe('You were not logged in.\n');
    expect((await good(away, 'budget', 'list', '--json')).stdout).toBe('[]\n');
  }, 60_000);
});

describe('commands for this machine only', () => {
  const env = { GW_URL: 'https://gw.example.com', GW_KEY: 'sk-gw-a' };
  const LOCAL = [
    'init',
    'start',
    'stop',
    'restart',
    'serve',
    'service',
    'logs',
    'doctor',
    'import',
    'limits',
    'providers',
    'team',
    'config',
    'backup',
    'restore',
  ];

  test('are these', () => {
    expect(CATALOG.flatMap(({ name, reach }) => (reach === 'local' ? [name] : []))).toEqual(LOCAL);
  });

  test.each([
    ...LOCAL.filter((name) => !['config', 'backup', 'limits', 'restore', 'providers', 'team'].includes(name)),
    'limits guard',
    'providers test',
    'team leave',
    'config list',
    'backup x.db',
    'restore x.db',
  ])('gw %s exits with 2 under GW_URL, before it does anything', async (line) => {
    const cli = cliHome();
    expect(await cli.run(line.split(' '), { env })).toEqual({
      code: 2,
      stdout: '',
      stderr: `gw: gw ${line.split(' ')[0]} is for the gw of this machine, but GW_URL is https://gw.example.com. Run it on that machine; for this one: unset GW_URL\n`,
    });
    expect(existsSync(cli.paths.database)).toBe(false);
  });

  test.each([
    ['optimize', 'report'],
    ['webhooks', 'listen'],
  ])('gw %s %s reads no database of this machine under GW_URL', async (...args) => {
    const cli = cliHome();
    expect(await cli.run(args, { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('this command is for the gw of this machine, but GW_URL is'),
    });
    expect(existsSync(cli.paths.database)).toBe(false);
  });

  test('show their help all the same', async () => {
    expect((await cliHome().run(['start', '--help'], { env })).code).toBe(0);
  });

  test('a malformed GW_URL is exit code 2, a gw that is not there exit code 3', async () => {
    const cli = cliHome();
    expect(await cli.run(['keys', 'create'], { env: { ...env, GW_URL: 'gw.example.com' } })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'gw: GW_URL "gw.example.com" is not the URL of a gw: use one such as https://gw.example.com\n',
    });
    expect(await cli.run(['run', '--', 'true'], { env: { ...env, GW_URL: 'http://127.0.0.1:1' } })).toEqual({
      code: 3,
      stdout: '',
      stderr: 'gw: nothing listens at http://127.0.0.1:1: check the URL, and that gw runs there\n',
    });
    expect((await cli.run(['keys', 'create'], { env: { GW_URL: 'https://gw.example.com' } })).code).toBe(4);
    expect((await cli.run(['completion', 'bash'], { env: { GW_URL: 'nonsense' } })).code).toBe(0);
  });
});
