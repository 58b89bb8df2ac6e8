import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli-home.ts';

describe('gw projects', () => {
  test('there is always a default project', async () => {
    expect(await cliHome().json(['projects', 'list'])).toEqual([
      { project_id: 'default', plan: 'pro', created_at: '2026-01-01T12:00:00.000Z', paused_at: null },
    ]);
  });

  test('add creates a project, remove deletes it, and adding it again restores it', async () => {
    const cli = cliHome();
    expect((await cli.run(['projects', 'add', 'web', '--plan', 'team'])).code).toBe(0);
    expect((await cli.run(['projects'])).stdout).toMatch(/web +team/);
    expect((await cli.run(['projects', 'remove', 'web'])).code).toBe(0);
    expect((await cli.run(['projects'])).stdout).not.toContain('web');
    expect((await cli.run(['projects', 'add', 'web'])).code).toBe(0);
  });

  test('pause marks a project as paused, and resume removes the mark', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'pause', 'default']);
    expect((await cli.run(['projects'])).stdout).toContain('paused');
    await cli.run(['projects', 'resume', 'default']);
    expect((await cli.run(['projects'])).stdout).not.toContain('paused');
  });

  test.each([
    [['add', 'Web'], 2, '"Web" is no project name'],
    [['add', 'default'], 1, 'project default exists already'],
    [['remove', 'default'], 2, 'cannot be removed'],
    [['remove', 'nobody'], 5, 'no project "nobody"'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['projects', ...args]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });
});

describe('gw plan', () => {
  test('prints the plan, and set changes it', async () => {
    const cli = cliHome();
    expect((await cli.run(['plan'])).stdout).toBe('pro\n');
    await cli.run(['plan', 'set', 'free']);
    expect(await cli.json(['plan'])).toEqual({ project_id: 'default', plan: 'free' });
  });

  test('refuses an unknown plan', async () => {
    const { code, stderr } = await cliHome().run(['plan', 'set', 'gold']);
    expect(code).toBe(2);
    expect(stderr).toContain('Allowed choices are free, pro, team');
  });
});
