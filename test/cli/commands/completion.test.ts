import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli-home.ts';

/** The words that gw offers for a command line whose last word is being typed. */
async function offered(words: string[], cli = cliHome()): Promise<string[]> {
  const { code, stdout } = await cli.run(['complete', '--', ...words]);
  expect(code).toBe(0);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

describe('completion', () => {
  test('offers commands, subcommands, options, choices and projects', async () => {
    expect(await offered(['pr'])).toEqual(['prices', 'providers', 'projects']);
    expect(await offered(['keys', ''])).toEqual(['create', 'list', 'revoke', 'help']);
    expect(await offered(['usage', '--f'])).toEqual(['--from']);
    expect(await offered(['usage', '--group-by', 'm'])).toEqual(['model']);
    expect(await offered(['plan', 'set', 't'])).toEqual(['team']);
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    expect(await offered(['budget', 'set', '5', '-p', 'w'], cli)).toEqual(['web']);
  });

  test('offers nothing that is not there', async () => {
    expect(await offered(['nope', ''])).not.toContain('create');
    expect(await offered(['usage', '--from', ''])).toEqual([]);
  });

  test.each(['bash', 'zsh', 'fish'])('the script for %s is what that shell reads', async (shell) => {
    const { stdout } = await cliHome().run(['completion', shell]);
    if (has(shell)) execFileSync(shell, ['-n', '-c', stdout]);
    expect(stdout).toContain('gw complete -- ');
  });

  test('bash completes a line with it', async () => {
    if (!has('bash')) return;
    const { stdout: script } = await cliHome().run(['completion', 'bash']);
    const test = `gw() { printf 'usage\\tspent\\nunused thing\\tx\\n'; }\n${script}\nCOMP_WORDS=(gw us); COMP_CWORD=1; _gw_complete; printf '%s;' "\${COMPREPLY[@]}"`;
    expect(String(execFileSync('bash', ['-c', test]))).toBe('usage;unused thing;');
  });
});

function has(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
}
