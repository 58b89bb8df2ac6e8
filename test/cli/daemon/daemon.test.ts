import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAlive } from '../../../src/daemon-info.ts';
import { freePort } from '../../support/free-port.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { cliHome, stopAfterwards } from '../cli-home.ts';

/** One test covers a whole life, because a daemon takes long to start. */
describe('the daemon', () => {
  test('starts once, shows its keys once, answers, serves its commands, restarts and stops', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const first = await cli.exec(['start']);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const origin = /^Base URL +(http:\/\/localhost:\d+)\/v1$/m.exec(first.stdout)?.[1] ?? '';
    const key = /^Project key +(sk-gw-\S+)$/m.exec(first.stdout)?.[1];
    expect(first.stdout).toMatch(/^Admin key +sk-gw-\S+$/m);
    expect(first.stdout).toMatch(/eval "\$\(\S*gw env\)"/);

    const again = await cli.exec(['start', '--port', '4999']);
    expect(again.code).toBe(0);
    expect(again.stdout).toContain('gw is already running');
    expect(again.stdout).not.toContain('sk-gw-');
    expect(again.stderr).toContain('gw restart --port 4999');

    const answer = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(answer.status).toBe(200);
    await answer.json();
    const refused = await fetch(`${origin}/v1/models`);
    // Clients run in other directories: they get the absolute path of a gw that is not on the PATH.
    expect(((await refused.json()) as { error: { message: string } }).error.message).toMatch(
      /eval "\$\(\/\S+\/bin\/gw env\)"$/,
    );
    cli.clock = createVirtualClock(Date.now());
    expect(await cli.json(['usage'])).toMatchObject({ total: { requests: 1 } });
    expect((await cli.run(['models'])).stdout).toMatch(/^sandbox\/echo +\$0\.15 +\$0\.60$/m);
    expect((await cli.run(['status'])).stdout).toContain(`running on ${origin}/v1, pid `);
    expect((await cli.run(['doctor'])).stdout).toContain(`running on ${origin}/v1, pid `);
    expect((await cli.run(['logs'])).stdout).toMatch(/info {2}listening/);
    expect(statSync(cli.paths.log).mode & 0o777).toBe(0o600);

    const before = JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8')) as { pid: number };
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    for (const impossible of ['-5', `${(taken.address() as AddressInfo).port}`]) {
      expect((await cli.exec(['restart', '--port', impossible])).code).not.toBe(0);
    }
    taken.close();
    expect(isAlive(before.pid)).toBe(true);
    expect((await cli.exec(['restart'])).stdout).toMatch(
      /^gw restarted: http:\/\/localhost:\d+\/v1, pid \d+\n$/,
    );
    expect(isAlive(before.pid)).toBe(false);

    const port = await freePort();
    expect((await cli.exec(['restart', '--port', `${port}`])).stdout).toContain(`:${port}/v1, pid `);
    expect((await cli.exec(['restart'])).stdout).toContain(`:${port}/v1, pid `);

    expect((await cli.exec(['stop'])).stderr).toMatch(/^gw \(pid \d+\) has stopped\.\n$/);
    expect(await cli.exec(['stop'])).toMatchObject({ code: 0, stderr: 'gw is not running.\n' });
    const status = await cli.run(['status', '--json']);
    expect(status.code).toBe(3);
    expect(JSON.parse(status.stdout)).toMatchObject({ status: 'stopped', today: { requests: 1 } });
  }, 60_000);

  test('is found by its port, not by a file that a crash left behind', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const info = JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8')) as { pid: number };
    process.kill(info.pid, 'SIGKILL');
    expect((await cli.exec(['status'])).code).toBe(3);
    expect(existsSync(cli.paths.daemonInfo)).toBe(true);
    expect((await cli.exec(['start'])).stdout).toContain('gw is running');
  }, 60_000);

  test('is found on its configured port if its file is gone', async () => {
    const port = String(await freePort());
    const cli = cliHome();
    cli.env.GW_PORT = port;
    stopAfterwards(cli);
    await cli.exec(['start']);
    const { pid } = JSON.parse(readFileSync(cli.paths.daemonInfo, 'utf8')) as { pid: number };
    rmSync(cli.paths.daemonInfo);
    expect(await cli.json(['status'])).toMatchObject({ status: 'running', pid });
    // A gw of another state directory is not taken for this one.
    const other = cliHome();
    other.env.GW_PORT = port;
    expect((await other.run(['status'])).code).toBe(3);
    expect((await other.exec(['start'])).stderr).toContain(`port ${port} is used by another gw`);
  }, 60_000);

  test('warns if other machines can reach it', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const open = await cli.exec(['start', '--host', '0.0.0.0']);
    expect(open).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^gw listens on http:\/\/0\.0\.0\.0:\d+: other machines can reach it and need only a key\. Without TLS, prompts and keys travel in clear text\./,
      ),
    });
    expect((await cli.run(['logs'])).stdout).toMatch(/warn {2}gw listens on http:\/\/0\.0\.0\.0:\d+: other/);
    expect(await cli.exec(['restart', '--host', 'localhost'])).toMatchObject({ code: 0, stderr: '' });
  }, 60_000);

  test('starts with settings of 0.1.0 that it no longer has, and says in one line that it ignores them', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const routing = { shadow_share: '5%', shadow_budget: '0.50', hedge: 'on', deadline_ms: 7_000 };
    writeFileSync(cli.paths.config, JSON.stringify({ routing }), { mode: 0o600 });
    const { code, stderr } = await cli.exec(['start']);
    const keys = 'routing.hedge, routing.shadow_share, routing.shadow_budget';
    const line = `${cli.paths.config} sets ${keys}, which this version of gw has removed and ignores.`;
    expect({ code, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 0, lines: 1 });
    expect(stderr).toContain(`warning: ${line} See: `);
    expect((await cli.run(['logs'])).stdout.split(`warn  ${line}`)).toHaveLength(2);
    expect((await cli.exec(['config', 'get', 'routing.deadline_ms'])).stdout).toBe('7000\n');
  }, 60_000);

  test('names the providers that the environment had at the last start and has no longer', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    expect(await cli.exec(['start'], { env: { GROQ_API_KEY: 'gsk-0' } })).toMatchObject({
      code: 0,
      stderr: '',
    });
    await cli.exec(['stop', '--now']);
    const { code, stderr } = await cli.exec(['start']);
    expect(code).toBe(0);
    expect(stderr).toContain(
      'warning: groq was a provider at the last start and is missing now: GROQ_API_KEY is not set here. To bring it back, set GROQ_API_KEY',
    );
  }, 60_000);

  test('two starts at once make one daemon, and both print its address', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const both = await Promise.all([cli.exec(['start', '--json']), cli.exec(['start', '--json'])]);
    expect(both.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ]);
    const [one, other] = both.map(
      ({ stdout }) => (JSON.parse(stdout) as { instance_id: string }).instance_id,
    );
    expect(one).toBe(other);
  }, 60_000);

  test('does not start if its port is taken, and says who uses it and what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { code, stdout, stderr } = await cliHome().exec(['start', '--port', String(port)]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`gw: port ${port} is used by `);
    if (process.platform === 'linux') expect(stderr).toContain(`(pid ${process.pid}), which is not gw`);
    expect(stderr).toContain(`gw start --port ${port + 1}`);
    expect(stderr).toContain('kill ');
  });

  test('reports why it could not start to gw start', async () => {
    const cli = cliHome();
    writeFileSync(cli.paths.database, 'this is no database, and long enough to be taken for one'.repeat(20));
    const { code, stderr } = await cli.exec(['start']);
    expect(code).toBe(1);
    expect(stderr).toContain('gw did not start');
    expect(stderr).toContain('file is not a database');
  });

  test('exits if it cannot write daemon.json, instead of running where nobody finds it', async () => {
    const cli = cliHome();
    mkdirSync(cli.paths.daemonInfo);
    const { code, stderr } = await cli.exec(['start']);
    expect([code, stderr]).toEqual([
      1,
      `gw: gw did not start (exit code 1):\ngw: cannot write ${cli.paths.daemonInfo}: it is a folder. Move it away, or name a file\n`,
    ]);
  });

  test('an invalid setting is refused before anything is started', async () => {
    const { code, stderr } = await cliHome().exec(['start', '--port', 'http']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'gw: --port: "http" is not a whole number from 0 to 65535\n',
    });
  });
});

describe('commands that need the daemon', () => {
  test('models exits with 3 when it is down', async () => {
    const result = await cliHome().run(['models']);
    expect(result).toEqual({
      code: 3,
      stdout: '',
      stderr: 'gw is not running. Run: gw start\n'.replace(/^/, 'gw: '),
    });
  });

  test('has stopped when it has ended, though nobody collects its process', async () => {
    // Node takes the shell's place: it doesn't know the child that it has, and collects nothing.
    const second = 'console.log(process.argv[1]); setInterval(() => {}, 60_000)';
    const parent = spawn('sh', ['-c', 'sleep 60 & exec "$0" -e "$1" $!', process.execPath, second], {
      stdio: 'pipe',
    });
    const [text] = (await once(parent.stdout, 'data')) as [Buffer];
    const child = Number(text);
    expect(isAlive(child)).toBe(true);
    process.kill(child, 'SIGKILL');
    await expect.poll(() => isAlive(child)).toBe(false);
    // The process still exists: its parent never asks for its end.
    expect(() => process.kill(child, 0)).not.toThrow();
  });
});
