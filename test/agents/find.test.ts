import { expect, test } from 'vitest';
import { findAgent } from '../../src/agents/find.ts';
import { AGENTS } from '../../src/agents/table.ts';

test.each([
  ['codex exec hi', 'codex', 1],
  ['/usr/local/bin/codex hi', 'codex', 1],
  ['C:\\npm\\codex.cmd hi', 'codex', 1],
  ['npx codex hi', 'codex', 2],
  ['npx -y @openai/codex@0.169.0 exec', 'codex', 3],
  ['npx --package @openai/codex codex exec', 'codex', 4],
  ['npm exec -- claude -p hi', 'claude', 4],
  ['pnpm dlx @anthropic-ai/claude-code', 'claude', 3],
  ['bunx opencode-ai run hi', 'opencode', 2],
  ['node /x/node_modules/@openai/codex/bin/codex.js exec', 'codex', 2],
  ['env DEBUG=1 claude -p hi', 'claude', 3],
  ['uvx --from aider-chat aider --message hi', 'aider', 4],
  ['python3 -m aider hi', 'aider', 3],
  ['uv tool run aider-chat==0.86.2', 'aider', 4],
  ['./node_modules/.bin/cn -p hi', 'continue', 1],
])('%s is %s', (command, name, words) => {
  const found = findAgent(command.split(' '));
  expect([found?.agent.name, found?.words]).toEqual([name, words]);
});

test.each([
  'sh -c codex',
  'echo codex',
  'node claude.js',
  'npx',
  'python3 aider.py',
  'git commit -m codex',
  '',
])('%j is no agent', (command) => {
  expect(findAgent(command.split(' '))).toBeUndefined();
});

test('each agent has a name, binaries and headers of its own kind', () => {
  expect(new Set(AGENTS.map(({ name }) => name)).size).toBe(AGENTS.length);
  const binaries = AGENTS.flatMap((agent) => agent.binaries);
  expect(new Set(binaries).size).toBe(binaries.length);
  for (const { sessionHeaders } of AGENTS)
    for (const header of sessionHeaders) expect(header).toMatch(/^[a-z_-]+$/);
});
