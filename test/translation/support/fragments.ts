import type { Api } from '../../../src/translation/context.ts';

/** The least request of each API. */
export const SMALL: Readonly<Record<Api, Record<string, unknown>>> = {
  'chat/completions': { messages: [] },
  messages: { messages: [] },
  responses: { input: 'Hi' },
  gemini: { contents: [] },
};

const says = (role: string, content: unknown) => ({ messages: [{ role, content }] });
const calls = (call: object) => ({
  messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: call }] }],
});
const parts = (...all: object[]) => ({ contents: [{ role: 'user', parts: all }] });
const items = (...input: object[]) => ({ input });

/** Ways to say something that the rich requests don't have, each in the least request. */
export const FRAGMENTS: Readonly<Record<Api, readonly Record<string, unknown>[]>> = {
  'chat/completions': [
    { tool_choice: 'required' },
    { tool_choice: 'none' },
    { tool_choice: { type: 'function', function: { name: 'a' } } },
    { tool_choice: { type: 'other' } },
    { response_format: { type: 'text' } },
    { response_format: { type: 'json_object' } },
    { stop: 'END' },
    { max_tokens: 5 },
    { verbosity: 'medium' },
    { verbosity: 'low' },
    { safety_identifier: 'a', user: 'b' },
    { stream_options: { other: 1 } },
    says('user', 'Hi'),
    says('system', ''),
    says('assistant', ''),
    says('assistant', [{ type: 'text', text: '' }]),
    says('user', [{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }]),
    says('user', [{ type: 'file', file: { file_data: 'AA', filename: 5 } }]),
    says('user', [{ type: 'file', file: { file_id: 'f' } }]),
    calls({ name: 'a', arguments: '[1]' }),
    calls({ name: 'a', arguments: { b: 1 } }),
    {
      messages: [
        { role: 'assistant', content: 'a', reasoning: 'b', reasoning_text: 'c', reasoning_opaque: 'd' },
      ],
    },
    {
      messages: [
        { role: 'assistant', content: 'a', reasoning_text: 'c', thinking_blocks: [{ data: 'gw1.x' }] },
      ],
    },
    {
      messages: [{ role: 'user', content: [{ type: 'input_audio' }], cache_control: { type: 'ephemeral' } }],
    },
    { messages: [{ role: 'user', content: [], cache_control: { type: 'ephemeral' } }] },
  ],
  messages: [
    { tools: [], tool_choice: { type: 'auto' } },
    { tools: [{ name: 'a', strict: 1 }], tool_choice: { type: 'none' } },
    { tools: [{ name: 'a' }], tool_choice: { type: 'tool', name: 'a' } },
    { tools: [{ type: 'tool_search_tool_x', name: 'a' }], tool_choice: { type: 'tool', name: 'a' } },
    { thinking: { type: 'adaptive' } },
    { thinking: { type: 'disabled' }, service_tier: 'auto' },
    { output_config: { effort: 'max' } },
    { metadata: {} },
    { metadata: { user_id: '' } },
    { system: 'Rule' },
    { system: '' },
    { context_management: { edits: [{ type: 'other' }] } },
    { context_management: { edits: [{ type: 'clear_thinking_x' }, 5] } },
    { context_management: { edits: 5 } },
    { context_management: 5 },
    says('assistant', [{ type: 'tool_search_tool_result', content: [] }]),
    says('assistant', [{ type: 'server_tool_use', name: 'web_search' }]),
    says('user', [
      { type: 'document', title: 5, source: { type: 'base64', media_type: 'application/pdf', data: 'A' } },
    ]),
    says('user', [{ type: 'document', source: { type: 'text', data: 'A' }, citations: { enabled: true } }]),
    says('user', [{ type: 'tool_result', tool_use_id: 'a' }]),
  ],
  responses: [
    ...['auto', 'none', 'required'].map((tool_choice) => ({
      tool_choice,
      tools: [{ type: 'function', name: 'a' }],
    })),
    ...['function', 'custom', 'other'].map((type) => ({
      tool_choice: { type, name: 'a', namespace: 'n' },
      tools: [{ type: 'function', name: 'a', strict: 1 }],
    })),
    {
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] },
      tools: [
        { type: 'function', name: 'a' },
        { type: 'function', name: 'b', description: 'old' },
        { type: 'function', name: 'b' },
      ],
    },
    { tools: [{ type: 'web_search' }] },
    { tools: [{ type: 'file_search' }] },
    {
      tools: [
        { type: 'custom', name: 'a', format: { type: 'text' } },
        { type: 'custom', name: 'b' },
      ],
    },
    { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'namespace', name: 'b', tools: [] }] }] },
    { tools: [{ type: 'namespace', name: 'a__', tools: [{ type: 'function', name: 'b' }] }] },
    { text: { format: { type: 'text' }, verbosity: 'low' } },
    { text: { format: { type: 'json_object' } } },
    { include: ['message.output_text.logprobs'] },
    { include: ['a', 'message.output_text.logprobs'] },
    { safety_identifier: 'a' },
    { background: true },
    { top_logprobs: 1 },
    { previous_response_id: 'r' },
    { context_management: [{ type: 'compaction' }] },
    items({ type: 'item_reference', id: 'msg_0' }),
    items({ type: 'item_reference', id: 'msg_9' }),
    items(
      { type: 'additional_tools', tools: [{ type: 'function', name: 'a' }] },
      { role: 'user', content: 'Hi' },
    ),
    items({ role: 'assistant', content: '' }, { role: 'assistant', content: [] }),
    items({ role: 'assistant', content: 'One' }, { role: 'assistant', content: 'Two' }),
    items({ type: 'function_call', call_id: 'a', name: 'f' }, { role: 'assistant', content: 'Two' }),
    items({ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AA' } }] }),
    items({ role: 'user', content: [{ type: 'input_image', image_url: 'https://x', detail: 'auto' }] }),
    items({ role: 'user', content: [{ type: 'input_file', file_data: 'A', filename: 5, detail: 'high' }] }),
    items({ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }),
    items({ role: 'system', content: [{ type: 'input_image', image_url: 'https://x' }] }),
  ],
  gemini: [
    { contents: { parts: { text: 'Hi' } } },
    { systemInstruction: 'Rule' },
    { systemInstruction: { parts: [{ text: 'Rule', inline_data: 1 }] } },
    ...['auto', 'NONE', 'ANY', 'x'].map((mode) => ({
      tools: [
        { function_declarations: [{ name: 'a', parameters: { type: 'ARRAY', items: { type: 'INTEGER' } } }] },
      ],
      toolConfig: { function_calling_config: { mode, allowed_function_names: ['a'] } },
    })),
    { generationConfig: { responseMimeType: 'text/plain' } },
    { generationConfig: { responseMimeType: 'text/x.enum' } },
    { generationConfig: { responseMimeType: 'application/json' } },
    { generationConfig: { candidateCount: 2 } },
    { generationConfig: { responseModalities: ['text', 'IMAGE'] } },
    { generationConfig: { responseModalities: [] } },
    { generationConfig: { responseLogprobs: true } },
    {
      generationConfig: { mediaResolution: 'HIGH', speechConfig: { a: 1 }, presencePenalty: 0.5, seed: null },
    },
    ...[-1, 0, 1_024, 8_192, 8_193, 24_576].map((thinkingBudget) => ({
      generationConfig: { thinkingConfig: { thinkingBudget } },
    })),
    ...['LOW', 'high', 5].map((thinking_level) => ({
      generationConfig: { thinkingConfig: { thinking_level } },
    })),
    { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    parts({ inlineData: { mimeType: 'audio/x-wav', data: 'A-_AA' } }),
    parts({ inline_data: { mime_type: 'application/pdf', data: 'AAA', display_name: 'N' } }),
    parts({ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }),
    parts({ fileData: { fileUri: 'https://example.com/a.png', displayName: 5 } }),
    parts({ fileData: { fileUri: 'gs://a', mimeType: 'image/png' } }),
    parts({ fileData: { fileUri: 'https://youtu.be/x', mimeType: 'video/mp4' } }),
    parts({ text: 'a', mediaResolution: { level: 'HIGH' } }),
    parts({ text: 'a', videoMetadata: { fps: 1 } }),
    parts({ text: '' }),
    parts({ functionResponse: { name: 'a', response: { output: { b: 1 } } } }),
    parts({ functionResponse: { name: 'a', response: { output: 'x', more: 1, error: 'y' } } }),
    parts({ functionResponse: { name: 'a', response: 'x' } }),
    parts({ functionResponse: { id: 'b' } }),
  ],
};
