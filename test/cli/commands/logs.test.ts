import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { followFile } from '../../../src/cli/commands/logs.ts';
import { cliHome } from '../cli-home.ts';

const line = (msg: string, more = {}) =>
  `${JSON.stringify({ level: 30, time: '2026-01-01T12:00:00.000Z', ...more, msg })}\n`;

describe('gw logs', () => {
  test('formats the last lines', async () => {
    const cli = cliHome();
    const warning = line('upstream\u001b[2J slow', { level: 40, provider: 'openai', ms: 5 });
    writeFileSync(cli.paths.log, `${line('one')}${line('two')}not JSON\n${warning}`);
    const { stdout } = await cli.run(['logs', '-n', '3']);
    expect(stdout.split('\n')).toEqual([
      '2026-01-01 13:00:00  info  two',
      'not JSON',
      '2026-01-01 13:00:00  warn  upstream[2J slow  provider=openai ms=5',
      '',
    ]);
    expect((await cli.run(['logs', '--json', '-n', '1'])).stdout).toBe(warning);
  });

  test('says on stderr where the log will be if there is none', async () => {
    const cli = cliHome();
    const { code, stdout, stderr } = await cli.run(['logs']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain(cli.paths.log);
  });
});

describe('followFile()', () => {
  test('follows a file across a rotation, and prints only complete lines', async () => {
    const { log } = cliHome().paths;
    writeFileSync(log, 'one\ntwo\nthr');
    const done = new AbortController();
    const seen: string[] = [];
    const steps: Record<string, () => void> = {
      two: () => appendFileSync(log, 'ee\n'),
      three: () => {
        appendFileSync(log, 'four\n');
        renameSync(log, `${log}.old`);
        writeFileSync(log, 'five\n');
      },
      five: () => done.abort(),
    };
    const print = (text: string) => {
      seen.push(text);
      steps[text]?.();
    };
    await followFile(log, { print, lines: 1, signal: done.signal });
    expect(seen).toEqual(['two', 'three', 'four', 'five']);
  });
});
