import { describe, expect, test } from 'vitest';
import { createCallerLookup, hashKey } from '../../../src/store/accounts/callers.ts';
import { cliHome } from '../cli-home.ts';

describe('gw keys', () => {
  test('create prints only the key to stdout, and the key works', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    const { code, stdout, stderr } = await cli.run(['keys', 'create', '-p', 'web']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^sk-gw-[\w-]{43}\n$/);
    expect(stderr).toBe('This key of project web is shown only once. To revoke it: gw keys revoke 1\n');
    const caller = createCallerLookup(await cli.open())(hashKey(stdout.trim()));
    expect(caller).toMatchObject({ project: 'web', admin: false });
  });

  test('list shows what a key is for, but never the key', async () => {
    const cli = cliHome();
    const { stdout: key } = await cli.run(['keys', 'create', '--admin', '--label', 'laptop']);
    const { stdout } = await cli.run(['keys']);
    expect(stdout).toContain(`sk-gw-...${key.trim().slice(-4)}`);
    expect(stdout).toContain('admin  laptop');
    expect(stdout).not.toContain(key.trim());
  });

  test('a revoked key no longer works, and list shows it only with --all', async () => {
    const cli = cliHome();
    const { stdout: key } = await cli.run(['keys', 'create']);
    expect((await cli.run(['keys', 'revoke', '1'])).stderr).toBe('Revoked key 1.\n');
    expect(createCallerLookup(await cli.open())(hashKey(key.trim()))).toBeUndefined();
    expect(await cli.json(['keys', 'list'])).toEqual([]);
    expect(await cli.json(['keys', 'list', '--all'])).toEqual([
      expect.objectContaining({ id: 1, revoked_at: '2026-01-01T12:00:00.000Z' }),
    ]);
  });

  test('revoke exits with 5 for an unknown key, and with 2 for an invalid id', async () => {
    const cli = cliHome();
    expect(await cli.run(['keys', 'revoke', '99'])).toMatchObject({
      code: 5,
      stderr: 'gw: no live key with id 99. See: gw keys list\n',
    });
    expect((await cli.run(['keys', 'revoke', 'sk-gw-x'])).code).toBe(2);
  });
});
