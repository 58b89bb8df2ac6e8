import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentScript } from '../wire/support/agent-script.ts';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, stageFor } from './stage.ts';

/** An MCP server with 40 tools: https://modelcontextprotocol.io/specification */
const SERVER = `
const tools = Array.from({ length: 40 }, (_, i) => ({
  name: 'tool_' + i,
  description: 'Does the thing number ' + i + '. ' + 'It has much to say of itself. '.repeat(40),
  inputSchema: { type: 'object', properties: { x: { type: 'string' } } },
}));
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result =
    method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      : method === 'tools/list' ? { tools } : {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
`;

test('Claude Code with 40 MCP tools over a provider of chat completions has no refused request', async () => {
  const claude = realAgent('claude');
  const newer = { ...claude.package, spec: '@anthropic-ai/claude-code@2.1.329' };
  const { path, gateway, home, env } = await stageFor({ ...claude, package: newer, files: () => ({}) });
  gateway.upstream.script(agentScript);
  const server = join(home, 'server.cjs');
  writeFileSync(server, SERVER);
  const config = { mcpServers: { many: { command: process.execPath, args: [server] } } };
  const args = [
    ...['-p', '--model', 'openai/gpt-4.1', '--mcp-config', JSON.stringify(config), '--strict-mcp-config'],
    ...['--permission-mode', 'auto', 'Say hello'],
  ];
  const words = [GW, 'run', '--', path, ...args];
  expect(await start(process.execPath, words, env, home).output).toContain('Hello you');
  const records = await gateway.records();
  expect(records.length).toBeGreaterThan(0);
  expect(records.map(({ outcome }) => outcome)).toEqual(records.map(() => 'ok'));
  expect(gateway.upstream.requests.at(-1)?.body.toString()).toContain('mcp__many__tool_39');
});
