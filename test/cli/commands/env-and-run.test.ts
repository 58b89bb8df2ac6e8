import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliHome, execute, stopAfterwards } from '../cli-home.ts';

describe('gw env and gw run', () => {
  test('env prints lines that a shell can evaluate, with the same key each time', async () => {
    const cli = cliHome();
    const env = { GW_PORT: '4900' };
    const { stdout, stderr } = await cli.exec(['env'], { env });
    expect(stderr).toBe('gw is not running yet. Run: ./bin/gw start\n');
    const shown = execFileSync('sh', [
      '-c',
      `${stdout}\necho "$OPENAI_BASE_URL $ANTHROPIC_BASE_URL $OPENAI_API_KEY"`,
    ]);
    expect(String(shown)).toMatch(/^http:\/\/localhost:4900\/v1 http:\/\/localhost:4900 sk-gw-\S+\n$/);
    expect((await cli.exec(['env'], { env })).stdout).toBe(stdout);
    expect(statSync(cli.paths.cliKeys).mode & 0o777).toBe(0o600);
  });

  test('env creates a new key after its key was revoked', async () => {
    const cli = cliHome();
    const keyOf = async () => (await cli.json<Record<string, string>>(['env'])).OPENAI_API_KEY;
    const key = await keyOf();
    await cli.run(['keys', 'revoke', '1']);
    expect(await keyOf()).not.toBe(key);
  });

  test('env supports fish and powershell', async () => {
    const cli = cliHome();
    expect((await cli.run(['env', '--shell', 'fish'])).stdout).toMatch(/^set -gx OPENAI_BASE_URL 'http:/);
    expect((await cli.run(['env', '--shell', 'powershell'])).stdout).toMatch(
      /^\$env:OPENAI_BASE_URL = 'http:/,
    );
    expect((await cli.run(['env', '-p', 'nobody'])).code).toBe(5);
  });

  test('run sets the variables for the command, and passes on its output and exit code', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    await cli.exec(['start']);
    const shell = (script: string) => cli.exec(['run', '--', 'sh', '-c', script], { stdin: 'typed' });
    expect(await shell('cat; echo " $ANTHROPIC_BASE_URL"; echo err >&2; exit 7')).toEqual({
      code: 7,
      stdout: expect.stringMatching(/^typed http:\/\/localhost:\d+\n$/),
      stderr: 'err\n',
    });
    expect((await shell('kill -KILL $$')).code).toBe(137);
    expect(await cli.exec(['run', 'no-such-command-here'])).toMatchObject({
      code: 127,
      stderr: 'gw: command not found: no-such-command-here\n',
    });

    const child = cli.spawn([
      'run',
      '--',
      'sh',
      '-c',
      'trap "echo got TERM; exit 5" TERM; echo ready; while :; do sleep 0.05; done',
    ]);
    const ended = execute(child);
    if (child.stdout) await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 5, stdout: 'ready\ngot TERM\n', stderr: '' });
  }, 60_000);
});
