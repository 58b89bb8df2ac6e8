import { CLAUDE } from '../wire/support/anthropic-gateway.ts';

const TOOL = {
  name: 'f',
  description: 'd',
  parameters: { type: 'object', properties: { a: { type: 'string' } } },
};
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

const chat = {
  model: 'mock/test-model',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      name: 'u',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image_url', image_url: { url: IMAGE, detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        { type: 'file', file: { file_data: 'AAAA', filename: 'a.pdf' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"rows":[1,2,3]}' },
    { role: 'user', content: 'Go on.' },
  ],
  max_tokens: 40,
  n: 1,
  stream: false,
  stream_options: { include_usage: true },
  temperature: 0.5,
  stop: ['x'],
  tools: [{ type: 'function', function: TOOL }],
  tool_choice: 'auto',
  response_format: { type: 'json_schema', json_schema: { name: 's', schema: { type: 'object' } } },
  metadata: { a: 'b' },
  service_tier: 'default',
  reasoning_effort: 'low',
  web_search_options: { search_context_size: 'low' },
  prediction: { type: 'content', content: 'Hi' },
  logit_bias: { 1: 2 },
  user: 'u',
  service: { budget: 'default', optimize: 'safe', route: 'off' },
};

const messages = {
  model: `anthropic/${CLAUDE}`,
  max_tokens: 40,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '5m' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'x' },
          citations: { enabled: true },
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'tool_use', id: 't1', name: 'f', input: { a: 'b' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'ok' }] }],
    },
  ],
  tools: [
    { name: 'f', description: 'd', input_schema: { type: 'object' } },
    { type: 'bash_20250124', name: 'bash' },
  ],
  tool_choice: { type: 'auto' },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  stop_sequences: ['x'],
  stream: false,
  metadata: { user_id: 'user_1_account__session_2' },
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'm' }],
  container: { skills: [] },
};

const responses = {
  model: 'mock/test-model',
  input: [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hi' },
        { type: 'input_image', image_url: IMAGE },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: 'ok' },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'x',
    },
    { role: 'user', content: 'Go on.' },
  ],
  instructions: 'Be brief.',
  max_output_tokens: 40,
  tools: [
    { type: 'function', ...TOOL },
    { type: 'web_search', search_context_size: 'low' },
  ],
  tool_choice: 'auto',
  reasoning: { effort: 'low', summary: 'auto' },
  text: { format: { type: 'text' }, verbosity: 'low' },
  truncation: 'auto',
  include: ['reasoning.encrypted_content'],
  previous_response_id: null,
  conversation: null,
  prompt: null,
  store: false,
  background: false,
  stream: false,
  metadata: { a: 'b' },
};

/** A rich valid body for each endpoint that takes JSON, by path. */
export const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': chat,
  '/v1/messages': messages,
  '/v1/responses': responses,
  '/v1/completions': {
    model: 'mock/test-model',
    prompt: ['Hi', [1, 2]],
    suffix: 'x',
    max_tokens: 9,
    n: 1,
    best_of: 1,
    echo: false,
  },
  '/v1/embeddings': {
    model: 'mock/test-model',
    input: ['Hi', 'there'],
    dimensions: 8,
    encoding_format: 'float',
  },
  '/v1/messages/count_tokens': messages,
  '/v1/complete': { model: 'mock/test-model', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 },
  '/v1/moderations': { model: 'mock/test-model', input: 'x' },
  '/v1/images/generations': { model: 'mock/test-model', prompt: 'x', n: 1, size: '1024x1024' },
  '/v1/batches': { input_file_id: 'file_1', endpoint: '/v1/chat/completions', completion_window: '24h' },
  '/v1/conversations': { items: [{ type: 'message', role: 'user', content: 'Hi' }] },
};

/** Small valid bodies, which no budget refuses for what it can't bound. */
export const PLAIN_BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    model: 'mock/test-model',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 40,
  },
  '/v1/messages': {
    model: `anthropic/${CLAUDE}`,
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 40,
  },
  '/v1/responses': { model: 'mock/test-model', input: 'Hi', max_output_tokens: 40 },
  '/v1/completions': { model: 'mock/test-model', prompt: 'Hi', max_tokens: 40 },
  '/v1/embeddings': { model: 'mock/test-model', input: 'Hi' },
};
