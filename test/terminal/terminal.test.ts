import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ASCII, BLOCKS } from '../../src/terminal/bars.ts';
import { terminalOf } from '../../src/terminal/terminal.ts';

test.each([
  [{}, BLOCKS],
  [{ LANG: 'ja_JP.UTF-8' }, BLOCKS],
  [{ LANG: 'ja_JP.eucJP' }, ASCII],
  [{ GW_ASCII: '1' }, ASCII],
  [{ VTE_CJK_WIDTH: 'wide', LANG: 'ja_JP.UTF-8' }, ASCII],
  [{ RUNEWIDTH_EASTASIAN: '1' }, ASCII],
])('a terminal with %j gets characters that it shows one cell wide', (env, symbols) => {
  expect(terminalOf(new PassThrough(), env).symbols).toBe(symbols);
});
