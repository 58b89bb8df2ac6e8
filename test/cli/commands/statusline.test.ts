import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli-home.ts';

const INPUT = JSON.stringify({ session_id: 'chat-1', model: { id: 'claude' } });

/** A home with a session that has spent $0.42, $3.10 today in all, and two caps. */
async function homeWithSpend() {
  const cli = cliHome({ timezone: 'UTC' });
  cli.clock = { ...cli.clock, now: () => Date.now() };
  await cli.run(['budget', 'set', '5']);
  await cli.run(['budget', 'set', '1', '--per', 'session']);
  const claude = { agent: 'claude', session: 'chat-1' };
  const timeMs = Date.now();
  await cli.record(
    { timeMs, costNanoUsd: 420_000_000, ...claude },
    { timeMs, costNanoUsd: 2_680_000_000, agent: 'claude', session: 'chat-2' },
  );
  return cli;
}

const LINE = /\$0\.42 session · \$3\.10 today · \$[\d.]+ left of default\/daily\S*$/;

describe('gw statusline', () => {
  test('says what the session and the day have spent, and that gw is down', async () => {
    const cli = await homeWithSpend();
    const { code, stdout, stderr } = await cli.exec(['statusline'], { stdin: INPUT });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toHaveLength(2);
    expect(stdout).toMatch(/^gw not running: gw start · /);
    expect(stdout.trim()).toMatch(LINE);
    // As the command prints it that is loaded for everything else than the plain line.
    writeFileSync(cli.paths.daemonInfo, JSON.stringify({ pid: process.pid }));
    const up = await cli.run(['statusline'], { stdin: INPUT });
    expect(up.stdout).toMatch(/^gw \$0\.42 session/);
  });

  test('wraps the command of the user, which gets the same input', async () => {
    const cli = await homeWithSpend();
    const mine = await cli.exec(['statusline', '--wrap', 'cat | tr a-z A-Z'], { stdin: INPUT });
    expect(mine.stdout).toMatch(/^\{"SESSION_ID":"CHAT-1".*\} \| gw /);
    const failing = await cli.exec(['statusline', '--wrap', 'exit 3'], { stdin: INPUT });
    expect([failing.code, failing.stdout.startsWith('gw ')]).toEqual([0, true]);
  });

  test('needs no database, no session and no JSON', async () => {
    const cli = cliHome();
    for (const stdin of ['', '{', '{"session_id":7}', INPUT]) {
      expect(await cli.exec(['statusline'], { stdin })).toMatchObject({
        code: 0,
        stdout: 'gw not running: gw start\n',
      });
    }
    expect((await cli.exec(['statusline', '--nope'])).code).toBe(2);
  });

  test('is set up around the own one by gw connect claude --statusline, and undone', async () => {
    const cli = cliHome();
    const folder = join(cli.paths.home, '.claude');
    const file = join(folder, 'settings.json');
    mkdirSync(folder, { recursive: true });
    const before = '{\n  "statusLine": { "type": "command", "command": "echo \'mine\'" } // mine\n}\n';
    writeFileSync(file, before);
    const env = { PATH: '' };
    await cli.run(['connect', 'claude', '--yes', '--statusline'], { env });
    expect(readFileSync(file, 'utf8')).toMatch(/statusline --wrap 'echo '\\\\''mine'\\\\'''" \}/);
    const once = readFileSync(file, 'utf8');
    await cli.run(['connect', 'claude', '--yes', '--statusline'], { env });
    expect(readFileSync(file, 'utf8').match(/--wrap/g)).toEqual(once.match(/--wrap/g));
    await cli.run(['disconnect', 'claude'], { env });
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await cli.run(['connect', 'codex', '--yes', '--statusline'], { env })).code).toBe(2);
  });
});
