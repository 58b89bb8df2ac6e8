import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { request } from '../../support/client.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/home.ts';
import { type CliHome, cliHome } from '../cli-home.ts';

/** The command line on the machine of a gateway. */
function commandLine(gateway: TestGateway): CliHome {
  const cli = cliHome();
  Object.assign(cli.env, { GW_HOME: gateway.paths.home, GW_PORT: String(gateway.daemon.port) });
  cli.paths = gateway.paths;
  return cli;
}

const ADDRESS = /^http:\/\/localhost:\d+\/login\?link=[\w-]{43}\n$/;

test('gw open prints an address that signs in with all rights, from a key that only the user can read', async () => {
  const gateway = await startGateway();
  const cli = commandLine(gateway);
  for (const args of [['open', '--print'], ['open']]) {
    const { code, stdout } = await cli.run(args);
    expect([code, stdout]).toEqual([0, expect.stringMatching(ADDRESS)]);
    const entered = await request(stdout.trim().replace('localhost', '127.0.0.1'), { method: 'GET' });
    const [cookie = ''] = entered.header('set-cookie')?.split(';') ?? [];
    const headers = { cookie, 'x-gw-page': entered.header('location')?.split('=')[1] ?? '' };
    const me = await request(`${gateway.origin}/v1/gw/whoami`, { method: 'GET', headers });
    expect(me.json()).toMatchObject({ key: { admin: true, label: 'gw cli' } });
  }
  expect(statSync(gateway.paths.cliKeys).mode & 0o777).toBe(0o600);
  const keys = gateway.db.prepare("SELECT count(*) FROM keys WHERE label = 'gw cli'").pluck().get();
  expect(keys).toBe(1);
});

test('gw open starts the browser of a desktop, and none over ssh', async () => {
  const gateway = await startGateway();
  const cli = commandLine(gateway);
  const bin = join(gateway.paths.home, 'bin');
  const seen = join(gateway.paths.home, 'seen');
  mkdirSync(bin);
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$1" >'${seen}'\n`);
  chmodSync(join(bin, 'xdg-open'), 0o755);
  Object.assign(cli.env, { PATH: `${bin}:${cli.env.PATH}`, DISPLAY: ':0' });
  const opened = await cli.run(['open'], { tty: true });
  if (process.platform === 'linux') {
    expect([opened.code, opened.stdout, opened.stderr]).toEqual([
      0,
      '',
      'The page is open in your browser.\n',
    ]);
    await until(async () => ADDRESS.test(readFileSync(seen, 'utf8')));
  }
  const overSsh = await cli.run(['open'], { tty: true, env: { SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22' } });
  expect(overSsh.stdout).toMatch(ADDRESS);
});

test('gw open at the gw of another machine has the rights of the key for it', async () => {
  const gateway = await startGateway();
  const cli = cliHome();
  const { code, stdout } = await cli.run(['open', '--print'], {
    env: { GW_URL: gateway.origin, GW_KEY: gateway.key },
  });
  expect([code, stdout.startsWith(`${gateway.origin}/login?link=`)]).toEqual([0, true]);
});

test('gw open says how to go on where gw is not running, and where the page is off', async () => {
  const stopped = await cliHome().run(['open']);
  expect([stopped.code, stopped.stderr]).toEqual([3, expect.stringContaining('gw start')]);
  const gateway = await startGateway({ settings: { 'page.enabled': 'off' } });
  const off = await commandLine(gateway).run(['open', '--print']);
  expect(off.stderr).toContain('gw config set page.enabled on');
  expect(off.code).not.toBe(0);
});
