import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCertificate } from '../support/certificate.ts';
import { startProxy, startTlsFront } from '../support/proxy.ts';
import { agentScript } from '../wire/support/agent-script.ts';
import { realAgent } from './agents.ts';
import { anyWire } from './any-wire.ts';
import { serverOf } from './many-tools.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

test('Claude Code with 40 MCP tools over a provider of chat completions has no refused request', async () => {
  const claude = realAgent('claude');
  const newer = { ...claude.package, spec: '@anthropic-ai/claude-code@2.1.329' };
  const { path, gateway, home, env } = await stageFor({ ...claude, package: newer, files: () => ({}) });
  gateway.upstream.script(agentScript);
  const server = join(home, 'server.cjs');
  writeFileSync(server, serverOf(40));
  const config = { mcpServers: { many: { command: process.execPath, args: [server] } } };
  const args = [
    ...['-p', '--model', 'openai/gpt-4.1', '--mcp-config', JSON.stringify(config), '--strict-mcp-config'],
    ...['--permission-mode', 'auto', 'Say hello'],
  ];
  const words = [GW, 'run', ...IN_PROJECT, '--', path, ...args];
  expect(await start(process.execPath, words, env, home).output).toContain('Hello you');
  const records = await gateway.records();
  expect(records.length).toBeGreaterThan(0);
  expect(records.map(({ outcome }) => outcome)).toEqual(records.map(() => 'ok'));
  expect(gateway.upstream.requests.at(-1)?.body.toString()).toContain('mcp__many__tool_39');
});

test("Claude Code keeps its tool search where gw reaches Anthropic's own API", async () => {
  const claude = realAgent('claude');
  const newer = { ...claude.package, spec: '@anthropic-ai/claude-code@2.1.329' };
  const { path, gateway, home, env } = await stageFor({ ...claude, package: newer, files: () => ({}) });
  const certificate = makeCertificate({ name: 'api.anthropic.com' });
  const proxy = await startProxy({ leadsTo: await startTlsFront(certificate, gateway.upstream.port) });
  gateway.configure({
    'tls.ca_file': certificate.certFile,
    providers: { anthropic: { proxy: proxy.url, keyStored: true } },
  });
  gateway.upstream.script(anyWire);
  const server = join(home, 'server.cjs');
  writeFileSync(server, serverOf(80));
  const config = { mcpServers: { many: { command: process.execPath, args: [server] } } };
  const args = [
    ...['-p', '--model', 'claude-sonnet-4-5', '--mcp-config', JSON.stringify(config), '--strict-mcp-config'],
    'Say hello',
  ];
  const largest = async (more: Record<string, string>) => {
    const before = gateway.upstream.requests.length;
    const words = [GW, 'run', ...IN_PROJECT, '--', path, ...args];
    expect(await start(process.execPath, words, { ...env, ...more }, home).output).toContain('Hello you');
    const bodies = gateway.upstream.requests.slice(before).map(({ body }) => body.toString());
    const tools = bodies.map((body) => ((JSON.parse(body) as { tools?: unknown[] }).tools ?? []).length);
    return { bytes: Math.max(...bodies.map(({ length }) => length)), tools: Math.max(...tools) };
  };
  const searching = await largest({});
  const whole = await largest({ ENABLE_TOOL_SEARCH: 'false' });
  console.info('tool search on and off:', searching, whole);
  expect(whole.tools).toBeGreaterThan(80);
  expect(searching.tools).toBeLessThan(40);
  expect(searching.bytes).toBeLessThan(0.7 * whole.bytes);
}, 120_000);
