import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { issueCertificate } from '../support/certificate.ts';
import { startProxy, startTlsFront } from '../support/proxy.ts';
import { json, type Script } from '../support/scripts.ts';
import { type Event, either } from '../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text, toolUse } from '../wire/support/messages-shapes.ts';
import {
  callItem,
  completedEvents,
  lastEvent,
  messageItem,
  responseBody,
  responseUsage,
} from '../wire/support/responses-shapes.ts';
import { realAgent } from './agents.ts';
import { serverOf } from './many-tools.ts';
import { start } from './programs.ts';
import { differences, type Run } from './seen-by-vendor.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

interface Vendor {
  /** How many commands it has the agent run. */
  calls: number;
  /** How many input tokens it counts for each result of a command in a prompt. */
  tokensPerResult?: number;
}

/** A vendor whose model has its agent run commands, one an answer, and says hello then. */
function vendorOf({ calls, tokensPerResult = 1_000 }: Vendor): Script {
  let called = 0;
  return async (exchange) => {
    const body = (await exchange.body).toString();
    const { method, path } = exchange.request;
    // Codex asks for a WebSocket first.
    if (method !== 'POST') return json(path === '/v1/responses' ? 426 : 404, NOT_HERE)(exchange);
    const { model = 'm', tools = [] } = JSON.parse(body) as { model?: string; tools?: { name?: string }[] };
    const shell = tools.find(({ name }) => /^(bash|exec_command)$/i.test(name ?? ''))?.name;
    const results = body.split(/"type":\s*"(?:tool_result|function_call_output)"/).length - 1;
    const input = tokensPerResult * (results + 1);
    // Claude Code's request for a summary.
    const isCompaction = body.includes('Respond with TEXT ONLY');
    const command = shell !== undefined && !isCompaction && called < calls && `echo ${++called}`;
    if (path.startsWith('/v1/messages')) return messages(command, shell, { model, input })(exchange);
    if (body.includes('"compaction_trigger"')) return compacted({ model, input })(exchange);
    if (path.startsWith('/v1/responses')) return responses(command, shell, { model, input })(exchange);
    return json(404, NOT_HERE)(exchange);
  };
}

const NOT_HERE = { error: { message: 'not here' } };

interface Said {
  model: string;
  input: number;
}

function messages(command: string | false, shell = '', { model, input }: Said): Script {
  const usage = messageUsage(input, 5);
  const stopReason = command ? 'tool_use' : 'end_turn';
  const content = command
    ? [toolUse(`toolu_${command.slice(5)}`, shell, { command, description: 'Counts' })]
    : [text('Hello you')];
  const rest = { id: `msg_${input}_${command}`, model };
  return either(
    messageBody(content, { ...rest, usage, stop_reason: stopReason }),
    messageStream(content, { startUsage: usage, endUsage: usage, stopReason, rest }),
  );
}

function responses(command: string | false, shell = '', { model, input }: Said): Script {
  const rest = { model, usage: responseUsage(input, 5) };
  if (!command)
    return either(responseBody([messageItem('Hello you')], rest), completedEvents(['Hello you'], rest));
  const args = shell === 'exec_command' ? { cmd: command } : { command, description: 'Counts' };
  const item = callItem('call_1', shell, JSON.stringify(args));
  const body = responseBody([item], rest);
  const types: [string, object][] = [
    ['response.created', { response: { ...body, status: 'in_progress', output: [] } }],
    ['response.output_item.added', { output_index: 0, item: { ...item, arguments: '' } }],
    [
      'response.function_call_arguments.done',
      { output_index: 0, item_id: item.id, arguments: item.arguments },
    ],
    ['response.output_item.done', { output_index: 0, item }],
  ];
  const events = types.map(([type, fields], i): Event => [type, { type, sequence_number: i, ...fields }]);
  return either(body, [...events, lastEvent('response.completed', body)]);
}

/** OpenAI's answer to Codex where it compacts: https://developers.openai.com/api/docs/guides/compaction */
function compacted({ model, input }: Said): Script {
  const item = { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAA' };
  const whole = responseBody([item], { model, usage: responseUsage(input, 5) });
  const done = { type: 'response.output_item.done', sequence_number: 0, output_index: 0, item };
  return either(whole, [['response.output_item.done', done], lastEvent('response.completed', whole)]);
}

interface Scenario {
  agent: string;
  /** The package in place of the one that other tests use. */
  spec?: string;
  vendor: 'anthropic' | 'openai';
  args(home: string): string[];
  script: Vendor;
}

/** What the vendor's own host is asked by an agent that reaches it directly, and by the same agent through gw. */
async function bothWays({ agent: name, spec, vendor, args, script }: Scenario): Promise<[Run, Run]> {
  const agent = realAgent(name);
  const own = { ...agent.package, ...(spec && { spec }) };
  const { path, gateway, home, env } = await stageFor({ ...agent, package: own, files: () => ({}) });
  const names = [`api.${vendor}.com`, 'chatgpt.com', 'ab.chatgpt.com', 'github.com', 'api.github.com'];
  const certificate = issueCertificate(names);
  const proxy = await startProxy({ leadsTo: await startTlsFront(certificate, gateway.upstream.port) });
  gateway.configure({
    'tls.ca_file': certificate.authorityFile,
    providers: { [vendor]: { proxy: proxy.url, keyStored: true } },
  });
  const here = '127.0.0.1,localhost';
  const proxied = {
    ...agent.env,
    ...{ HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NO_PROXY: here },
    ...{ http_proxy: proxy.url, https_proxy: proxy.url, no_proxy: here },
    NODE_EXTRA_CA_CERTS: certificate.authorityFile,
    SSL_CERT_FILE: certificate.authorityFile,
    CODEX_CA_CERTIFICATE: certificate.authorityFile,
  };
  const keys = { OPENAI_API_KEY: 'sk-mine', CODEX_API_KEY: 'sk-mine', ANTHROPIC_API_KEY: 'sk-ant-mine' };
  const { GW_HOME = '', GW_PORT = '' } = env;
  const run = async (folder: string, words: string[], variables: Record<string, string>): Promise<Run> => {
    gateway.upstream.script(vendorOf(script));
    const from = gateway.upstream.requests.length;
    const place = join(home, folder);
    mkdirSync(place);
    const output = start(words[0] ?? '', [...words.slice(1), ...args(place)], variables, place).output;
    expect(await output).toContain('Hello you');
    return { requests: gateway.upstream.requests.slice(from), home: place };
  };
  const direct = await run('direct', [path], { ...proxied, ...keys });
  const words = [process.execPath, GW, 'run', ...IN_PROJECT, '--', path];
  return [direct, await run('through', words, { ...proxied, GW_HOME, GW_PORT })];
}

const CLAUDE = '@anthropic-ai/claude-code@2.1.329';
const claude = (...args: string[]) => ['-p', '--allowedTools', 'Bash', ...args, '--', 'Run the command'];

/** An MCP server of 40 tools, whose schemas stay out of the request while tool search is on. */
function manyTools(home: string): string[] {
  const server = join(home, 'server.cjs');
  writeFileSync(server, serverOf(40));
  const config = { mcpServers: { many: { command: process.execPath, args: [server] } } };
  return ['--mcp-config', JSON.stringify(config), '--strict-mcp-config'];
}

/** What Claude Code leaves out at any address but Anthropic's own; docs/agents.md has what it costs. */
const CLAUDE_LEAVES_OUT = [
  '+ body.system[1].cache_control.type',
  '- beta cache-diagnosis-2026-04-07',
  '- beta prompt-caching-scope-2026-01-05',
  '- beta thinking-binding-controls-2026-08-01',
  '- body.diagnostics.previous_message_id',
  '- body.system[2].cache_control.scope',
  '- body.system[3].cache_control.type',
  '- body.system[3].text',
  '- body.system[3].type',
  '- header x-claude-1p-request-class',
  '- header x-claude-code-prev-tool-durations',
  '- header x-claude-code-prompt-id',
  '- header x-claude-code-request-class',
  '- header x-claude-code-sandy-plover',
  '- header x-client-request-id',
  '~ body.system[0].text',
  '~ body.system[2].text',
];
/** What it also leaves out where it compacts, at the same moment. */
const CLAUDE_LEAVES_OUT_COMPACTING = [
  '- beta mid-conversation-system-clear-at-2026-08-21',
  '- beta server-side-fallback-2026-06-01',
  '- body.fallbacks[0].model',
  '- header x-cc-compaction-request',
  '- header x-cc-context-compacted',
  '- header x-claude-code-compaction',
  '- header x-claude-code-context-compacted',
];
/** Codex states its version and its MCP servers to its own provider alone; the rest is gw's, as a budget counts. */
const CODEX = [
  '+ body.max_tool_calls',
  '+ body.service_tier',
  '- body.client_metadata.mcp_attribution',
  '- header version',
];

const codex = () => [
  ...['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only', '-m', 'gpt-5.2'],
  'Run the command',
];
const opencode = (model: string) => () => ['run', '-m', model, 'Run the command'];

const SCENARIOS: (Scenario & { title: string; differ: string[] })[] = [
  {
    title: 'Claude Code with 40 MCP tools',
    ...{ agent: 'claude', spec: CLAUDE, vendor: 'anthropic', script: { calls: 2 } },
    args: (home) => claude(...manyTools(home), '--model', 'claude-sonnet-4-5'),
    differ: CLAUDE_LEAVES_OUT,
  },
  {
    title: 'Claude Code up to its compaction at a million tokens, and on',
    ...{ agent: 'claude', spec: CLAUDE, vendor: 'anthropic' },
    script: { calls: 20, tokensPerResult: 60_000 },
    args: () => claude('--model', 'opus'),
    differ: [...CLAUDE_LEAVES_OUT, ...CLAUDE_LEAVES_OUT_COMPACTING].sort(),
  },
  {
    title: 'Codex up to its compaction, and on',
    ...{ agent: 'codex', vendor: 'openai', script: { calls: 8, tokensPerResult: 60_000 }, args: codex },
    differ: CODEX,
  },
  {
    title: "opencode on OpenAI's API up to its compaction, and on",
    ...{ agent: 'opencode', vendor: 'openai', script: { calls: 9, tokensPerResult: 60_000 } },
    args: opencode('openai/gpt-5.2'),
    differ: ['+ body.service_tier'],
  },
  {
    title: "opencode on Anthropic's API up to its compaction, and on",
    ...{ agent: 'opencode', vendor: 'anthropic', script: { calls: 5, tokensPerResult: 60_000 } },
    args: opencode('anthropic/claude-sonnet-4-5'),
    differ: [],
  },
];

test.each(SCENARIOS)("$title asks its vendor's host the same through gw as directly", async (scenario) => {
  const [direct, through] = await bothWays(scenario);
  expect(direct.requests.length).toBeGreaterThan(scenario.script.calls);
  expect(differences(direct, through)).toEqual(scenario.differ);
});
