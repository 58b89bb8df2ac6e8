import type { Api } from '../../../src/translation/context.ts';
import type { AnswerEvent } from '../../../src/translation/conversation/answer.ts';

const EXTRA = { google: { thought_signature: 'GSIG' } };
const chunk = (delta: object, rest: object = {}) => ({ choices: [{ index: 0, delta, ...rest }] });
const piece = (index: number, fn: object, id?: string) => ({
  tool_calls: [{ index, ...(id && { id }), function: fn }],
});
const CHAT_USAGE = {
  ...{ prompt_tokens: 90, completion_tokens: 50, cached_tokens: 3, prompt_cache_hit_tokens: 4 },
  prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
  completion_tokens_details: { reasoning_tokens: 10 },
};
const MESSAGE_USAGE = {
  ...{ input_tokens: 90, output_tokens: 50, cache_read_input_tokens: 30, cache_creation_input_tokens: 20 },
};
const RESPONSE_USAGE = {
  ...{ input_tokens: 90, output_tokens: 50 },
  input_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
  output_tokens_details: { reasoning_tokens: 10 },
};
const GEMINI_USAGE = {
  ...{ promptTokenCount: 90, toolUsePromptTokenCount: 7, cachedContentTokenCount: 30 },
  ...{ candidatesTokenCount: 40, thoughtsTokenCount: 10 },
};

/** A whole answer of each API with most of what it may have. */
export const WHOLE: Readonly<Record<Api, Record<string, unknown>>> = {
  'chat/completions': {
    id: 'chat-1',
    model: 'served-1',
    created: 5,
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          reasoning_content: 'A thought',
          reasoning: 'B thought',
          reasoning_text: 'C thought',
          reasoning_opaque: 'OPAQUE',
          reasoning_details: [
            { type: 'reasoning.text', index: 0, text: 'D ' },
            { type: 'reasoning.text', index: 0, text: 'thought', signature: null },
            { type: 'reasoning.summary', index: 1, summary: 'E thought' },
          ],
          thinking_blocks: [{ type: 'thinking', thinking: 'F thought', signature: 'SIG' }],
          content: [{ type: 'text', text: 'An ' }, { text: 'answer' }],
          refusal: 'A refusal',
          tool_calls: [
            { id: 'call_1', function: { name: 'look-up', arguments: '{"a":1}' }, extra_content: EXTRA },
            { id: '', function: { name: 'list-all', arguments: { b: 2 } } },
          ],
        },
      },
    ],
    usage: CHAT_USAGE,
  },
  messages: {
    id: 'msg-1',
    model: 'served-1',
    stop_reason: 'tool_use',
    content: [
      { type: 'thinking', thinking: 'A thought', signature: 'SIG' },
      { type: 'redacted_thinking', data: 'DATA' },
      { type: 'text', text: 'An answer' },
      { type: 'tool_use', id: 'call_1', name: 'look-up', input: { a: 1 } },
    ],
    usage: MESSAGE_USAGE,
  },
  responses: {
    id: 'resp-1',
    model: 'served-1',
    created_at: 5,
    status: 'incomplete',
    incomplete_details: { reason: 'content_filter' },
    output: [
      {
        type: 'reasoning',
        id: 'rs-1',
        summary: [{ text: 'A thought' }, { text: 'B thought' }],
        encrypted_content: 'ENC',
      },
      {
        type: 'message',
        id: 'msg-1',
        content: [
          { type: 'output_text', text: 'An answer' },
          { type: 'refusal', refusal: 'A refusal' },
        ],
      },
      { type: 'function_call', id: 'fc-1', call_id: 'call_1', name: 'look-up', arguments: '{"a":1}' },
    ],
    usage: RESPONSE_USAGE,
  },
  gemini: {
    responseId: 'gem-1',
    modelVersion: 'served-1',
    candidates: [
      {
        finishReason: 'MAX_TOKENS',
        content: {
          parts: [
            { text: 'A thought', thought: true, thoughtSignature: 'GSIG' },
            { text: 'An answer' },
            { functionCall: { id: 'call_1', name: 'look-up', args: { a: 1 } } },
            { functionCall: { name: 'list-all' }, thoughtSignature: 'HSIG' },
          ],
        },
      },
    ],
    promptFeedback: { blockReason: 'OTHER' },
    usageMetadata: GEMINI_USAGE,
  },
};

/** The events of a stream of each API. */
export const STREAMED: Readonly<Record<Api, readonly object[]>> = {
  'chat/completions': [
    { id: 'chat-1', model: 'served-1', created: 5, choices: [] },
    chunk({ reasoning_content: 'A ' }),
    chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'B ' }] }),
    chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'thought', signature: 'SIG' }] }),
    chunk({ content: 'An answer' }),
    chunk(piece(0, { name: '', arguments: '' }, 'call_1')),
    chunk(piece(0, { name: 'look-up', arguments: '{"a"' })),
    chunk(piece(0, { arguments: ':1}' })),
    chunk(piece(0, { name: 'look-up', arguments: '{"a":2}' })),
    chunk(piece(1, { name: 'list-all', arguments: '' }, 'call_3')),
    chunk(piece(1, { name: 'list-all', arguments: '{}' }, 'call_4')),
    chunk({}, { finish_reason: 'length', usage: CHAT_USAGE }),
    { choices: [], x_groq: { usage: CHAT_USAGE } },
  ],
  messages: [
    {
      type: 'message_start',
      message: { id: 'msg-1', model: 'served-1', usage: { ...MESSAGE_USAGE, output_tokens: 1 } },
    },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'A thought' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIG' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'An ' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'answer' } },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'call_1', name: 'look-up', input: { b: 2 } },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 50 } },
    { type: 'message_stop' },
  ],
  responses: [
    { type: 'response.created', response: { id: 'resp-1', model: 'served-1', created_at: 5 } },
    { type: 'response.in_progress', response: { id: 'resp-2' } },
    { type: 'keepalive' },
    { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning' } },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'A thought' },
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs-1', summary: [{ text: 'X' }], encrypted_content: 'ENC' },
    },
    { type: 'response.output_text.delta', output_index: 1, delta: 'An answer' },
    { type: 'response.refusal.delta', output_index: 1, delta: 'A refusal' },
    {
      type: 'response.output_item.done',
      output_index: 1,
      item: { type: 'message', content: [{ type: 'output_text', text: 'X' }] },
    },
    {
      type: 'response.output_item.added',
      output_index: 2,
      item: { type: 'function_call', call_id: 'call_1', name: 'look-up' },
    },
    { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a":1}' },
    { type: 'response.function_call_arguments.done', output_index: 2, arguments: '{"a":1}' },
    {
      type: 'response.output_item.added',
      output_index: 3,
      item: { type: 'function_call', call_id: 'call_2', name: 'list-all' },
    },
    { type: 'response.function_call_arguments.done', output_index: 3, arguments: '{"b":2}' },
    {
      type: 'response.output_item.done',
      output_index: 4,
      item: { type: 'function_call', call_id: 'call_3', name: 'list-all', arguments: '{}' },
    },
    { type: 'response.completed', response: { status: 'completed', usage: RESPONSE_USAGE, output: [] } },
  ],
  gemini: [
    {
      responseId: 'gem-1',
      modelVersion: 'served-1',
      candidates: [{ content: { parts: [{ text: 'A thought', thought: true }] } }],
    },
    { candidates: [{ content: { parts: [{ text: '', thoughtSignature: 'GSIG' }] } }] },
    {
      candidates: [
        {
          content: { parts: [{ text: 'An answer' }, { functionCall: { name: 'look-up', args: { a: 1 } } }] },
        },
      ],
    },
    { candidates: [{ content: { parts: [{ functionCall: { name: 'list-all' } }] } }] },
    { candidates: [{ finishReason: 'STOP' }], usageMetadata: GEMINI_USAGE },
  ],
};

/** The steps of an answer with each kind of them. */
export const STEPS: readonly AnswerEvent[] = [
  { type: 'start', id: 'given-1', model: 'served-1', created: 5 },
  { type: 'ping' },
  { type: 'reasoning', text: 'A ' },
  { type: 'reasoning', text: 'thought' },
  {
    type: 'seal',
    seal: { kind: 'thinking', values: [{ type: 'thinking', thinking: 'A thought', signature: 'SIG' }] },
  },
  { type: 'text', text: 'An ' },
  { type: 'text', text: 'answer' },
  { type: 'refusal', text: 'A refusal' },
  { type: 'seal', seal: { kind: 'calls', values: [{ id: 'call_1', extra_content: EXTRA }] } },
  { type: 'call', key: 0, id: 'call_1', name: 'look-up' },
  { type: 'arguments', key: 0, text: '{"a"' },
  { type: 'call', key: 1, id: 'call_2', name: 'write-it' },
  { type: 'arguments', key: 1, text: '{"input":"In' },
  { type: 'arguments', key: 0, text: ':1}' },
  { type: 'arguments', key: 1, text: 'put"}' },
  { type: 'usage', usage: { input: 90, cached: 30, written: 20, output: 50, reasoning: 10 } },
  { type: 'end', reason: 'calls' },
];
