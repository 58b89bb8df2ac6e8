import { expect, test } from 'vitest';
import { processName } from '../../src/attribution/process-name.ts';

test.each([
  [['/usr/bin/curl', '-H', 'Authorization: Bearer sk-secret'], 'curl'],
  [['claude'], 'claude'],
  [['claude --resume /tmp/x'], 'claude'],
  [['/opt/My App/app'], 'app'],
  [['-bash'], 'bash'],
  [['nginx: worker process'], 'nginx'],
  [['node', '--import', 'tsx', '/home/ann/agent.mjs', '--key', 'sk-secret'], 'node agent.mjs'],
  [['/usr/bin/node', '/usr/lib/node_modules/aider/cli.js'], 'node aider/cli.js'],
  [['node', 'index.js'], 'node index.js'],
  [['python3.12', '-m', 'aider', '--api-key', 'sk-secret'], 'python3.12 -m aider'],
  [['python', '-c', 'print("sk-secret")'], 'python -c'],
  [['node', '-e', 'fetch("sk-secret")'], 'node -e'],
  [['bun', 'run', 'agent.ts'], 'bun agent.ts'],
  [['node'], 'node'],
  [[], ''],
])('processName(%j) is %s', (args, name) => {
  expect(processName(args)).toBe(name);
});

test('processName() is short whatever a process calls itself', () => {
  expect(processName(['x'.repeat(5_000)])).toHaveLength(60);
});
