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

test('on a terminal, removing a project or its data asks first', async () => {
  const cli = cliHome();
  await cli.run(['projects', 'add', 'web']);
  for (const command of ['remove', 'delete-data']) {
    const asked = await cli.run(['projects', command, 'web'], { tty: true, stdin: 'n\n' });
    expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('Go ahead? [y/N]')]);
  }
  expect((await cli.run(['projects'])).stdout).toContain('web');
  expect((await cli.run(['projects', 'remove', 'web'], { tty: true, stdin: 'y\n' })).code).toBe(0);
  expect((await cli.run(['projects'])).stdout).not.toContain('web');
});
