import { ownerOf, packSeal } from '../../../src/translation/carry/envelope.ts';
import type { Api } from '../../../src/translation/context.ts';
import type { Seal } from '../../../src/translation/conversation/conversation.ts';

/** What gw has packed of an answer of the provider `mock`. */
const packed = (kind: Seal['kind'], ...values: Seal['values']) =>
  packSeal(ownerOf('mock', 'm'), { kind, values });

export const MARK = { type: 'ephemeral' };
export const IMAGE = 'data:image/png;base64,AAAA';
const PDF = 'data:application/pdf;base64,BBBB';
export const SCHEMA = { type: 'object', properties: {} };
export const SIGNED = { type: 'thinking', thinking: 'Signed thought', signature: 'SIG' };
export const OPAQUE = { id: 'call_1', extra_content: { google: { thought_signature: 'GSIG' } } };

/** Requests of each API with most of what they may have, in texts of several words where any text may stand. */
export const RICH: Readonly<Record<Api, Record<string, unknown>>> = {
  'chat/completions': {
    model: 'client/model',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 500,
    max_completion_tokens: 600,
    temperature: 0.5,
    top_p: 1,
    stop: ['END OF IT', ' '],
    user: 'User One',
    service_tier: 'default',
    parallel_tool_calls: false,
    reasoning_effort: 'low',
    seed: 7,
    metadata: { user_id: 'User Two', label: 'A Label' },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'Form', description: 'A form', strict: true, schema: SCHEMA },
    },
    tools: [
      {
        type: 'function',
        function: { name: 'look-up', description: 'Looks up', parameters: SCHEMA, strict: true },
      },
      {
        type: 'function',
        function: { name: 'list-all', parameters: { type: 'object' } },
        cache_control: MARK,
      },
    ],
    tool_choice: 'auto',
    messages: [
      { role: 'system', content: 'Rule One' },
      { role: 'developer', content: [{ type: 'text', text: 'Rule Two', cache_control: MARK }] },
      {
        role: 'user',
        name: 'Somebody Else',
        content: [
          { type: 'text', text: 'Question One' },
          { type: 'image_url', image_url: { url: IMAGE, detail: 'high' } },
          { type: 'file', file: { filename: 'A File.pdf', file_data: PDF } },
        ],
      },
      {
        role: 'assistant',
        content: 'Answer One',
        reasoning_content: 'Plain thought',
        thinking_blocks: [SIGNED, { type: 'redacted_thinking', data: packed('calls', OPAQUE) }],
        reasoning_details: [{ type: 'reasoning.text', text: 'Detail One' }],
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'look-up', arguments: '{"a":"Arg"}' },
            extra_content: { google: { thought_signature: 'GSIG2' } },
          },
          { id: 'call_2', type: 'function', function: { name: 'list-all', arguments: '' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_2', content: 'Result Two' },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text: 'Result One' },
          { type: 'image_url', image_url: { url: IMAGE } },
        ],
      },
      { role: 'user', content: 'Question Two', cache_control: MARK },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'Not That' }], refusal: 'Nor That' },
      { role: 'user', content: 'Question Three' },
    ],
  },
  messages: {
    model: 'client/model',
    stream: true,
    max_tokens: 500,
    temperature: 0.5,
    top_p: 0.9,
    stop_sequences: ['END OF IT'],
    service_tier: 'standard_only',
    metadata: { user_id: 'User One' },
    context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
    tools: [
      {
        name: 'look-up',
        description: 'Looks up',
        input_schema: SCHEMA,
        strict: true,
        cache_control: MARK,
        defer_loading: true,
      },
      { type: 'custom', name: 'list-all', input_schema: { type: 'object' } },
      { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    ],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    system: [{ type: 'text', text: 'Rule One', cache_control: MARK }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Question One', citations: null },
          {
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
            cache_control: MARK,
          },
          {
            type: 'document',
            title: 'A Title',
            source: { type: 'url', url: 'https://example.com/a.pdf' },
            citations: { enabled: false },
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A Text' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'thinking',
            thinking: 'Plain thought',
            signature: packed('text', { text: 'Packed thought' }),
          },
          { type: 'redacted_thinking', data: packed('calls', OPAQUE) },
          { type: 'text', text: 'Answer One' },
          { type: 'server_tool_use', id: 'srv', name: 'tool_search_tool_regex', input: {} },
          {
            type: 'tool_use',
            id: 'call_1',
            name: 'look-up',
            input: { a: 'Arg' },
            caller: { type: 'direct' },
          },
          { type: 'tool_use', id: 'call_2', name: 'list-all' },
        ],
      },
      { role: 'system', content: 'A Reminder' },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_2', content: 'Result Two', is_error: true },
          {
            type: 'tool_result',
            tool_use_id: 'call_1',
            content: [
              { type: 'text', text: 'Result One' },
              { type: 'tool_reference', tool_name: 'list-all' },
              { type: 'image', source: { type: 'url', url: 'https://example.com/b.png' } },
            ],
            cache_control: MARK,
          },
          { type: 'text', text: 'Question Two' },
        ],
      },
      { role: 'assistant', content: 'Answer Two' },
      { role: 'user', content: 'Question Three' },
    ],
  },
  responses: {
    model: 'client/model',
    stream: true,
    max_output_tokens: 500,
    temperature: 0.5,
    top_p: 1,
    user: 'User One',
    store: false,
    truncation: 'disabled',
    service_tier: 'default',
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
    reasoning: { effort: 'low', summary: 'auto' },
    text: {
      verbosity: 'medium',
      format: { type: 'json_schema', name: 'Form', description: 'A form', strict: true, schema: SCHEMA },
    },
    instructions: 'Rule One',
    tools: [
      {
        type: 'function',
        name: 'look-up',
        description: 'Looks up',
        parameters: SCHEMA,
        strict: true,
        defer_loading: true,
      },
      {
        type: 'custom',
        name: 'write-it',
        description: 'Writes',
        format: { type: 'grammar', syntax: 'lark', definition: 'A Grammar' },
      },
      {
        type: 'namespace',
        name: 'files-1',
        tools: [{ type: 'function', name: 'list-all', parameters: { type: 'object' } }],
      },
      { type: 'tool_search' },
    ],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [
        { type: 'function', name: 'look-up' },
        { type: 'custom', name: 'write-it' },
        { type: 'function', name: 'list-all', namespace: 'files-1' },
      ],
    },
    input: [
      { type: 'message', role: 'developer', content: 'Rule Two' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Question One' },
          { type: 'input_image', image_url: IMAGE, detail: 'high' },
          { type: 'input_file', filename: 'A File.pdf', file_data: PDF, detail: 'auto' },
        ],
      },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        encrypted_content: packed('text', { text: 'Packed thought' }),
      },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Answer One', annotations: [] },
          { type: 'refusal', refusal: 'Not That' },
        ],
      },
      { type: 'reasoning', id: 'rs_2', encrypted_content: packed('calls', OPAQUE) },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'look-up',
        arguments: '{"a":"Arg"}',
        status: 'completed',
      },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'write-it', input: 'Some Input' },
      { type: 'function_call', call_id: 'call_3', name: 'list-all', namespace: 'files-1', arguments: '' },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Result Two' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'Result One' },
          { type: 'input_image', image_url: IMAGE },
        ],
      },
      { type: 'tool_search_call', id: 'ts_1' },
      { type: 'message', role: 'user', content: 'Question Two' },
    ],
  },
  gemini: {
    model: 'client/model',
    stream: true,
    safetySettings: [{ category: 'A Category' }],
    labels: { team: 'A Team' },
    serviceTier: 'standard',
    systemInstruction: { parts: [{ text: 'Rule One' }] },
    generationConfig: {
      maxOutputTokens: 500,
      temperature: 0.5,
      topP: 1,
      topK: 64,
      seed: 7,
      candidateCount: 1,
      responseLogprobs: false,
      stopSequences: ['END OF IT'],
      responseModalities: ['TEXT'],
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
      thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 },
    },
    tools: [
      {
        functionDeclarations: [
          {
            name: 'look-up',
            description: 'Looks up',
            parameters: { type: 'OBJECT', properties: { a: { type: 'STRING', enum: ['x'] } } },
          },
          { name: 'list-all', parametersJsonSchema: { type: 'object' } },
        ],
      },
    ],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look-up', 'list-all'] } },
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'Question One' },
          { inlineData: { mimeType: 'image/png', data: 'A-_A' } },
          {
            fileData: {
              mimeType: 'application/pdf',
              fileUri: 'https://example.com/a.pdf',
              displayName: 'A File',
            },
          },
        ],
      },
      {
        role: 'model',
        parts: [
          { text: 'Plain thought', thought: true },
          { text: 'Answer One' },
          {
            functionCall: { name: 'look-up', args: { a: 'Arg' } },
            thoughtSignature: Buffer.from(packed('calls', OPAQUE)).toString('base64'),
          },
          { functionCall: { id: 'own', name: 'list-all' } },
          { executableCode: { code: 'Some Code' } },
        ],
      },
      {
        role: 'function',
        parts: [
          { functionResponse: { id: 'own', name: 'list-all', response: { error: 'Result Two' } } },
          {
            functionResponse: {
              name: 'look-up',
              response: { output: 'Result One' },
              parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
            },
          },
        ],
      },
      { parts: { text: 'Question Two' } },
    ],
  },
};
