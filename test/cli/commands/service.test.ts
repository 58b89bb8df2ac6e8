import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../../src/cli/context.ts';
import {
  launchdPlist,
  scheduledTask,
  serviceManager,
  systemdUnit,
} from '../../../src/cli/service/manager.ts';
import { systemctlFolder } from '../../support/systemctl.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { type CliHome, cliHome, stopAfterwards } from '../cli-home.ts';

const ODD = {
  argv: ['/usr/bin/no de', '/opt/"q"\\gw', 'serve', '$HOME 100%'],
  env: { GW_HOME: '/home/a b & <c>', GW_DATABASE: '/d%n/gw.db' },
} as const;

function withSystemctl(): CliHome & { unit: string; calls: () => string[] } {
  const cli = cliHome({ timezone: 'UTC' });
  stopAfterwards(cli);
  cli.env.PATH = `${systemctlFolder()}:${cli.env.PATH}`;
  mkdirSync(cli.paths.home, { recursive: true });
  writeFileSync(cli.paths.config, '{"port":0}');
  const { HOME = '' } = cli.env;
  return {
    ...cli,
    unit: join(HOME, '.config/systemd/user/gw.service'),
    calls: () => readFileSync(join(HOME, 'calls'), 'utf8').trim().split('\n'),
  };
}

describe('gw service', { timeout: 90_000 }, () => {
  test('installs, is used by start, stop and restart, and leaves nothing behind', async () => {
    const cli = withSystemctl();
    expect(await cli.exec(['service', 'status'])).toMatchObject({
      code: 3,
      stdout: 'not installed. To install it: gw service install\n',
    });
    const env = { OPENAI_API_KEY: 'sk-provider', GW_PORT: '0' };
    const installed = await cli.exec(['service', 'install'], { env });
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.stdout).toMatch(
      /^gw runs as a service of systemd \(pid \d+\): http:\/\/localhost:\d+\/v1$/m,
    );
    expect(installed.stdout).toContain('loginctl enable-linger');
    expect(installed.stderr).toContain("does not see this shell's OPENAI_API_KEY");
    expect(cli.calls()).toEqual(['daemon-reload', 'enable gw.service', 'restart gw.service']);
    expect(statSync(cli.unit).mode & 0o777).toBe(0o600);
    const status = async () => JSON.parse((await cli.exec(['service', 'status', '--json'])).stdout);
    const first = await status();
    expect(first).toMatchObject({ manager: 'systemd', installed: true, outdated: false, running: true });
    expect((await cli.exec(['restart', '--port', '1'])).stderr).toContain('gw config set port');
    expect((await cli.exec(['restart'])).code).toBe(0);
    const second = await status();
    expect(second.pid).not.toBe(first.pid);
    expect((await cli.exec(['stop'])).code).toBe(0);
    expect((await cli.exec(['service', 'status'])).stdout).toContain('stopped    To start it: gw start');
    expect((await cli.exec(['start'])).code).toBe(0);
    expect((await status()).running).toBe(true);
    writeFileSync(cli.unit, readFileSync(cli.unit, 'utf8').replace('RestartSec=1', 'RestartSec=9'));
    expect((await status()).outdated).toBe(true);
    expect((await cli.exec(['service', 'uninstall'])).code).toBe(0);
    expect(existsSync(cli.unit)).toBe(false);
    expect((await cli.exec(['status'])).code).toBe(3);
    expect((await cli.exec(['service', 'uninstall'])).stderr).toContain('not installed as a service');
  });

  test('puts everything back where the manager refuses, and says what else can be done', async () => {
    const cli = withSystemctl();
    writeFileSync(join(cli.env.HOME ?? '', 'no-bus'), '');
    const refused = await cli.exec(['service', 'install']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/Failed to connect to bus: No medium found\. .*gw serve in a container/);
    expect(existsSync(cli.unit)).toBe(false);
    cli.env.PATH = tmpHome();
    expect((await cli.exec(['service', 'install'])).stderr).toMatch(/systemctl .* it is not installed/);
  });

  test('does not take the place of the service of another home', async () => {
    const cli = withSystemctl();
    mkdirSync(dirname(cli.unit), { recursive: true });
    writeFileSync(cli.unit, systemdUnit(ODD));
    expect((await cli.exec(['service', 'install'])).stderr).toContain('of another GW_HOME');
    expect(readFileSync(cli.unit, 'utf8')).toBe(systemdUnit(ODD));
  });
});

describe('the definition', () => {
  test('for systemd passes its own check', (context) => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0)
      context.skip('systemd-analyze is not installed');
    const file = join(tmpHome(), 'gw.service');
    for (const path of [process.execPath, '/bin/sh']) {
      writeFileSync(file, systemdUnit({ ...ODD, argv: [path, ...ODD.argv.slice(1)] }));
      const env = { ...process.env, SYSTEMD_LOG_LEVEL: 'warning', XDG_RUNTIME_DIR: dirname(file) };
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
        env,
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    }
  });

  test('for systemd escapes what it would read as more than text', () => {
    const unit = systemdUnit(ODD);
    expect(unit).toContain('ExecStart="/usr/bin/no de" "/opt/\\"q\\"\\\\gw" "serve" "$$HOME 100%%"\n');
    expect(unit).toContain('Environment="GW_DATABASE=/d%%n/gw.db"\n');
  });

  test('for launchd and Windows is well-formed XML with every argument and variable', (context) => {
    const plist = launchdPlist('dev.gw.daemon', ODD);
    expect(plist).toContain('<string>/home/a b &amp; &lt;c&gt;</string>');
    const task = scheduledTask(ODD);
    expect(task).toContain('set &quot;GW_HOME=/home/a b &amp; &lt;c&gt;&quot; &amp;&amp; ');
    if (spawnSync('python3', ['--version']).status !== 0)
      context.skip('python3, which parses it, is not installed');
    const parse = 'import sys, xml.dom.minidom as d; d.parseString(sys.stdin.buffer.read())';
    for (const text of [plist, task]) execFileSync('python3', ['-c', parse], { input: text });
  });

  test.each([
    ['linux', 'systemd', 'systemctl'],
    ['darwin', 'launchd', 'launchctl'],
    ['win32', 'Task Scheduler', 'schtasks'],
  ] as const)('of %s is for %s', (platform, name, program) => {
    const { paths } = cliHome();
    const context = { env: {}, paths, program: '/opt/gw/bin/gw' } as unknown as Context;
    const manager = serviceManager(context, platform);
    expect(manager).toMatchObject({ name, definition: expect.stringContaining(paths.home) });
    const commands = [manager.install, manager.uninstall, manager.start, manager.restart].flat();
    expect(new Set(commands.map(([first]) => first))).toEqual(new Set([program]));
  });
});
