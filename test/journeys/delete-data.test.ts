import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lastRequestId } from '../../src/store/database/daemons.ts';
import { cliHome, commandLineOf } from '../cli/cli-home.ts';
import { PLAIN, startGateway } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

async function served(how: 'locally' | 'remotely') {
  const clock = createVirtualClock();
  const gateway = await startGateway({ clock, budget: { period: 'daily', capUsd: 5 } });
  const cli = commandLineOf(gateway, how, clock);
  await gateway.newProject('web');
  const web = await gateway.newKey('web');
  const ask = (key: string, session: string) =>
    gateway.post(PLAIN, { headers: { authorization: `Bearer ${key}`, 'session-id': session } });
  for (const session of ['one', 'one', 'two']) await ask(gateway.key, session);
  await ask(web, 'one');
  await gateway.settled(4);
  const sessions = () =>
    gateway.db.prepare('SELECT external_id FROM sessions ORDER BY project_id, external_id').pluck().all();
  return { gateway, cli, clock, sessions };
}

describe.each(['locally', 'remotely'] as const)('gw projects delete-data, %s', (how) => {
  test('deletes the records of a project, and keeps the figures', async () => {
    const { gateway, cli, clock, sessions } = await served(how);
    const usage = await cli.json(['usage', '-g', 'project']);
    const budgets = await cli.json(['budget', 'list']);
    const last = lastRequestId(gateway.db);
    const deleted = await cli.run(['projects', 'delete-data', 'default', '--yes']);
    expect([deleted.code, deleted.stderr]).toEqual([
      0,
      'Deleted 3 records of project default. Reports and budgets keep their figures.\n',
    ]);
    expect(await cli.json(['requests'])).toMatchObject([{ project_id: 'web' }]);
    expect(gateway.db.prepare('SELECT count(*) FROM request_details').pluck().get()).toBeLessThanOrEqual(1);
    expect(await cli.json(['usage', '-g', 'project'])).toEqual(usage);
    expect(await cli.json(['budget', 'list'])).toEqual(budgets);
    expect(sessions()).toEqual([
      expect.stringMatching(/^deleted-/),
      expect.stringMatching(/^deleted-/),
      'one',
    ]);
    expect((await cli.run(['projects', 'delete-data', 'web', '--yes'])).stderr).toContain(
      'Deleted 1 record ',
    );
    expect(lastRequestId(gateway.db)).toBe(last);
    await clock.advance(2_000);
    await gateway.post(PLAIN);
    expect(await gateway.settled(1)).toHaveLength(1);
  });

  test('deletes what gw 0.2.0 has learnt from the project, and of no other', async () => {
    const { gateway, cli } = await served(how);
    const [own = '', other = ''] = ['default', 'web'].map((name) =>
      join(gateway.paths.home, `route-${name}.bin`),
    );
    for (const file of [own, other]) writeFileSync(file, 'learnt');
    await cli.run(['projects', 'delete-data', 'default', '--session', 'one', '--yes']);
    expect(existsSync(own)).toBe(true);
    await cli.run(['projects', 'delete-data', 'default', '--yes']);
    expect([own, other].map((file) => existsSync(file))).toEqual([false, true]);
  });

  test('deletes one session', async () => {
    const { cli, sessions } = await served(how);
    const { stderr } = await cli.run(['projects', 'delete-data', 'default', '--session', 'one', '--yes']);
    expect(stderr).toContain('Deleted 2 records of session one of project default.');
    expect(await cli.json(['requests', '-p', 'default'])).toMatchObject([{ session_id: 'two' }]);
    expect(sessions()).toEqual([expect.stringMatching(/^deleted-/), 'two', 'one']);
  });

  test.each([
    [['default'], 2, 'This deletes the record of every request of project default for good'],
    [['nobody', '--yes'], 5, 'no project "nobody"'],
    [['default', '--session', 'three', '--yes'], 5, 'no session "three" in this project'],
  ])('%j exits with %i and deletes nothing', async (args, code, message) => {
    const { gateway, cli } = await served(how);
    const result = await cli.run(['projects', 'delete-data', ...args]);
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(await gateway.records()).toHaveLength(4);
  });
});

describe('on a terminal', () => {
  async function furnished() {
    const cli = cliHome();
    for (const command of [
      'projects add web',
      'keys create --label ci --budget 5 -p web',
      'budget set 5',
      'prices set m --input 1 --output 2',
      'webhooks add http://127.0.0.1:9/hook',
      'providers add ollama',
    ])
      expect((await cli.run(command.split(' '))).code).toBe(0);
    return cli;
  }
  /** Each command that loses something, and what it says of that. */
  const LOSSES: [command: string, loss: string][] = [
    ['projects delete-data web', 'the record of every request of project web for good'],
    ['keys revoke 1', 'This ends key ci of project web for good: programs that use it get a 401.'],
    ['budget remove web/daily@key:ci', 'This ends the cap of $5.00 (web/daily@key:ci)'],
    ['budget remove', 'This ends the cap of $5.00 (default/daily)'],
    ['prices remove m', 'This removes your price of m'],
    [
      'webhooks remove wh_1',
      'This removes webhook wh_1 (http://127.0.0.1:9/hook), its secret and its deliver',
    ],
    ['providers remove ollama', 'This removes provider ollama'],
    ['projects remove web', 'This revokes all keys of project web and removes its budgets'],
    [
      'config set retention.requests 7d',
      'gw deletes the record of each request older than 7d for good (now: 90d)',
    ],
  ];

  test('what would be lost is said, and stays after a no', async () => {
    const cli = await furnished();
    for (const [command, loss] of LOSSES) {
      const asked = await cli.run(command.split(' '), { tty: true, stdin: 'n\n' });
      expect([command, asked.code, asked.stderr]).toEqual([command, 1, expect.stringContaining(loss)]);
      expect(asked.stderr).toContain('Go ahead? [y/N]');
    }
    for (const [command] of LOSSES) {
      expect([command, (await cli.run([...command.split(' '), '--yes'], { tty: true })).code]).toEqual([
        command,
        0,
      ]);
    }
  });

  test('a longer retention and what does not exist are not asked about', async () => {
    const cli = await furnished();
    const longer = await cli.run(['config', 'set', 'retention.requests', '365d'], { tty: true });
    expect([longer.code, longer.stderr]).toEqual([0, expect.not.stringContaining('Go ahead')]);
    const back = await cli.run(['config', 'unset', 'retention.requests'], { tty: true, stdin: 'y\n' });
    expect([back.code, back.stderr]).toEqual([
      0,
      expect.stringContaining('older than 90d for good (now: 365d)'),
    ]);
    for (const command of ['keys revoke 99', 'prices remove none', 'budget remove web/monthly'])
      expect((await cli.run(command.split(' '), { tty: true })).code).toBe(5);
  });
});

test('scripts of 0.1.0 are asked nothing without a terminal; later commands want --yes', async () => {
  const cli = cliHome();
  await cli.run(['keys', 'create']);
  expect((await cli.run(['keys', 'revoke', '1'])).code).toBe(0);
  const refused = await cli.run(['projects', 'delete-data', 'default']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('To go ahead, add --yes')]);
});
