import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { identifyLog } from '../../../src/agents/logs/read-logs.ts';
import { AGENTS } from '../../../src/agents/table.ts';
import { tmpHome } from '../../support/tmp-home.ts';
import { addCompressedLog, addLog, addOpencodeLog } from './logs.ts';

test('logs under other names are known by their content', async () => {
  const home = tmpHome();
  const paths = [addLog(home, 'codex-0.98.0'), addLog(home, 'claude-2.1.329'), addOpencodeLog(home)];
  const moved = paths.map((path, i) => {
    const copy = join(home, `copy-${i}`);
    copyFileSync(path, copy);
    return copy;
  });
  const nameOf = async (path: string) => (await identifyLog(path, AGENTS))?.name;
  expect(await Promise.all(moved.map(nameOf))).toEqual(['codex', 'claude', 'opencode']);
  expect(await nameOf(addCompressedLog(home))).toBe('codex');
  expect(await nameOf(addOpencodeLog(home, '.local/share/kilo'))).toBe('kilo');

  const path = join(home, 'mixed');
  const answer = {
    type: 'assistant',
    sessionId: 's',
    message: { content: [{ input: { payload: 1, type: 'x' } }] },
  };
  writeFileSync(path, `broken "payload"\n{"sum":1}\n${JSON.stringify(answer)}\n`);
  expect(await nameOf(path)).toBe('claude');
  writeFileSync(path, '{"messages":[]}\n');
  expect(await nameOf(path)).toBeUndefined();
});
