import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { chunkBody, completionBody, usageOf } from '../support/chat-shapes.ts';
import { respond, type Script } from '../support/scripts.ts';
import { startBothWires } from '../wire/support/anthropic-gateway.ts';
import { type Event, either } from '../wire/support/event-scripts.ts';
import { loadSdk } from '../wire/support/load-sdk.ts';
import { text, toolUse } from '../wire/support/messages-shapes.ts';
import { sentBody } from '../wire/support/send.ts';

interface Message {
  content: Record<string, unknown>[];
  stop_reason: string | null;
}
interface Anthropic {
  default: new (
    options: object,
  ) => {
    beta: {
      messages: {
        create(body: object): Promise<Message>;
        stream(body: object): { finalMessage(): Promise<Message> };
      };
    };
  };
}
const anthropic = await loadSdk<Anthropic>('@anthropic-ai/sdk');

/** What Claude Code 2.1.329 sends with 40 tools of MCP servers in auto mode, in its second turn. */
const CLAUDE_CODE = {
  model: 'mock/test-model',
  max_tokens: 8_000,
  betas: ['claude-code-20250219', 'advanced-tool-use-2025-11-20', 'context-management-2025-06-27'],
  system: [
    text('x-anthropic-billing-header: cc_version=2.1.329.3c4'),
    { ...text('You are Claude Code.'), cache_control: { type: 'ephemeral' } },
  ],
  thinking: { type: 'adaptive' },
  output_config: { effort: 'high' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  safeguards: { paths: ['/etc'], rules: [{ action: 'deny', pattern: 'rm -rf' }] },
  metadata: { user_id: JSON.stringify({ device_id: 'd', account_uuid: '', session_id: 's' }) },
  tools: [
    { name: 'ToolSearch', input_schema: { type: 'object' }, eager_input_streaming: true },
    ...Array.from({ length: 40 }, (_, i) => ({
      name: `mcp__server__tool_${i}`,
      description: `Tool ${i}`,
      input_schema: { type: 'object', properties: { x: { type: 'string' } } },
      defer_loading: true,
    })),
  ],
  messages: [
    { role: 'user', content: [{ ...text('Use tool 7'), cache_control: { type: 'ephemeral' } }] },
    { role: 'assistant', content: [toolUse('toolu_1', 'ToolSearch', { query: 'tool 7' })] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'toolu_1',
          content: [{ type: 'tool_reference', tool_name: 'mcp__server__tool_7' }],
        },
      ],
    },
    { role: 'system', content: 'A reminder' },
  ],
};

describe.skipIf(!anthropic)('Claude Code with 40 MCP tools over a provider of chat completions', () => {
  test('has no refused request, plain and streamed', async () => {
    const gateway = await startBothWires();
    const call = {
      index: 0,
      id: 'call_7',
      type: 'function',
      function: { name: 'mcp__server__tool_7', arguments: '{"x":"1"}' },
    };
    const usage = usageOf(900, 9);
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const plain = completionBody('m', '', usage, { message, finish_reason: 'tool_calls' });
    const chunks: Event[] = [
      ['', chunkBody('m', { delta: { tool_calls: [call] } })],
      ['', chunkBody('m', { finish_reason: 'tool_calls' })],
      ['', chunkBody('m', undefined, { usage })],
      ['', '[DONE]'],
    ];
    gateway.upstream.script(either(plain, chunks));
    if (!anthropic) return;
    const client = new anthropic.default({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
    const answers = [
      await client.beta.messages.create(CLAUDE_CODE),
      await client.beta.messages.stream(CLAUDE_CODE).finalMessage(),
    ];
    for (const { content, stop_reason } of answers) {
      expect(content).toMatchObject([toolUse('call_7', 'mcp__server__tool_7', { x: '1' })]);
      expect(stop_reason).toBe('tool_use');
    }
    const { tools, messages } = sentBody(gateway) as { tools: object[]; messages: object[] };
    expect(tools).toHaveLength(41);
    expect(messages.at(-2)).toEqual({
      role: 'tool',
      tool_call_id: 'toolu_1',
      content: 'The tool mcp__server__tool_7 is available.',
    });
    expect(await gateway.settled(2)).toMatchObject(
      answers.map(() => ({
        outcome: 'ok',
        status: 200,
        inputTokens: 900,
        detail: { left_out: ['tools[].defer_loading', 'safeguards'] },
      })),
    );
  });
});

/** What Codex sends for gpt-5.6 and later, whatever the provider. */
const CODEX = {
  model: 'mock/gpt-5.6',
  instructions: 'You are Codex.',
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'medium', summary: 'auto' },
  tool_choice: 'auto',
  parallel_tool_calls: false,
  prompt_cache_key: 'thread',
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'functions',
          description: 'Tools',
          tools: [
            {
              type: 'custom',
              name: 'exec',
              description: 'Runs JavaScript',
              format: { type: 'grammar', syntax: 'lark', definition: 'start: /[^]+/' },
            },
            { type: 'function', name: 'wait', strict: false, parameters: { type: 'object', properties: {} } },
          ],
        },
      ],
    },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: 'List the files' }],
      internal_chat_message_metadata_passthrough: { turn_id: 't', content_item_kinds: ['user'] },
    },
  ],
};

test("Codex's newer models, whose tools come as an item, use a provider of chat completions", async () => {
  const gateway = await startBothWires();
  const call = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'functions__exec', arguments: '' },
  };
  const noResponses: Script = async (exchange) => {
    if (exchange.request.path.startsWith('/v1/responses'))
      return respond(404, { 'content-type': 'text/plain' }, '404 page not found')(exchange);
    const chunks: Event[] = [
      ['', chunkBody('m', { delta: { tool_calls: [call] } })],
      [
        '',
        chunkBody('m', {
          delta: { tool_calls: [{ index: 0, function: { arguments: '{"input":"ls()"}' } }] },
        }),
      ],
      ['', chunkBody('m', { finish_reason: 'tool_calls' })],
      ['', '[DONE]'],
    ];
    return either({}, chunks)(exchange);
  };
  gateway.upstream.script(noResponses);
  const client = new OpenAI({
    baseURL: gateway.url,
    apiKey: gateway.key,
    maxRetries: 0,
    defaultHeaders: { originator: 'codex_exec' },
  });
  const { output } = await client.responses
    .stream(CODEX as unknown as Parameters<typeof client.responses.stream>[0])
    .finalResponse();
  expect(output).toMatchObject([
    { type: 'custom_tool_call', call_id: 'call_1', name: 'exec', namespace: 'functions', input: 'ls()' },
  ]);
  expect(sentBody(gateway)).toMatchObject({
    messages: [
      { role: 'system', content: 'You are Codex.' },
      { role: 'user', content: 'List the files' },
    ],
    tools: [{ function: { name: 'functions__exec' } }, { function: { name: 'functions__wait' } }],
  });
  expect(await gateway.settled(1)).toMatchObject([{ outcome: 'ok', detail: {} }]);
});
