import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { cliHome } from '../cli-home.ts';

/** The words that gw offers to complete the last word of a command line. */
async function wordsFor(words: string[], cli = cliHome()): Promise<string[]> {
  const { code, stdout } = await cli.run(['complete', '--', ...words]);
  expect(code).toBe(0);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
}

describe('completion', () => {
  test('offers commands, subcommands, options, choices and projects', async () => {
    expect(await wordsFor(['pr'])).toEqual(['prices', 'providers', 'projects']);
    expect(await wordsFor(['keys', ''])).toEqual(['create', 'list', 'rotate', 'revoke', 'help']);
    expect(await wordsFor(['usage', '--f'])).toEqual(['--fold', '--from']);
    expect(await wordsFor(['usage', '--group-by', 'm'])).toEqual(['model']);
    expect(await wordsFor(['plan', 'set', 't'])).toEqual(['team']);
    const cli = cliHome();
    await cli.run(['projects', 'add', 'web']);
    expect(await wordsFor(['budget', 'set', '5', '-p', 'w'], cli)).toEqual(['web']);
  });

  test('offers nothing that does not exist', async () => {
    expect(await wordsFor(['nope', ''])).not.toContain('create');
    expect(await wordsFor(['usage', '--from', ''])).toEqual([]);
  });

  test.each(['bash', 'zsh', 'fish'])('the script for %s is valid in that shell', async (shell) => {
    const { stdout } = await cliHome().run(['completion', shell]);
    if (has(shell)) execFileSync(shell, ['-n', '-c', stdout]);
    expect(stdout).toContain('gw complete -- ');
  });

  test('the bash script completes a line', async () => {
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
