import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli-home.ts';

describe('gw init', () => {
  test('--yes does not prompt, creates the keys and shows them once', async () => {
    const cli = cliHome();
    const { code, stdout } = await cli.run(['init', '--yes'], { tty: true });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Project key +sk-gw-\S+$/m);
    expect(stdout).toMatch(/^Admin key +sk-gw-\S+$/m);
    expect(stdout).toContain('Next: gw start');
    expect((await cli.run(['init', '--yes'])).stdout).not.toContain('sk-gw-');
  });

  test('accepts a provider, its key and a cap without prompting', async () => {
    const cli = cliHome();
    const args = ['init', '--provider', 'openai', '--stdin', '--budget', '5'];
    const { code, stdout, stderr } = await cli.run(args, { stdin: 'sk-secret-3\n' });
    expect(code).toBe(0);
    expect(stdout).toContain('Providers: openai');
    expect(stdout + stderr).not.toContain('sk-secret-3');
    expect(JSON.parse(readFileSync(cli.paths.credentials, 'utf8'))).toEqual({ openai: 'sk-secret-3' });
    expect(await cli.json(['budget'])).toMatchObject([{ budget_id: 'default/daily', cap_usd: 5 }]);
  });

  test('prompts on a terminal, and accepts "none"', async () => {
    const cli = cliHome();
    const { code, stderr } = await cli.run(['init', '--budget', '2'], { tty: true, stdin: 'none\r' });
    expect(code).toBe(0);
    expect(stderr).toContain('Add a provider [openai; or none]: ');
    expect(await cli.json(['budget'])).toMatchObject([{ cap_usd: 2 }]);
  });

  test('names the next command so that it can be pasted', async () => {
    const { stdout } = await cliHome().exec(['init', '--yes']);
    expect(stdout).toMatch(/To create another: .*\/gw keys create\n\nNext: .*\/gw start\n$/);
  });

  test('refuses a bad cap before it changes anything', async () => {
    const cli = cliHome();
    const { code, stdout } = await cli.run(['init', '--yes', '--budget', 'lots']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(await cli.json(['keys'])).toEqual([]);
  });
});
