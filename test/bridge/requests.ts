/** Requests of each API with most of what they may have. */
const FUNCTION = { name: 'f', description: 'a', parameters: { type: 'object' } };
const CHAT = {
  model: 'm',
  temperature: 1,
  stop: ['x'],
  reasoning_effort: 'low',
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
  tools: [{ type: 'function', function: FUNCTION }],
  tool_choice: { type: 'function', function: { name: 'f' } },
  messages: [
    { role: 'system', content: 'a' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
      ],
    },
    {
      role: 'assistant',
      content: 'a',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'a' },
  ],
};
const MESSAGES = {
  model: 'm',
  max_tokens: 9,
  system: [{ type: 'text', text: 'a' }],
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  output_config: { effort: 'low' },
  context_management: { edits: [{ type: 'clear_thinking_20251015' }] },
  tools: [{ name: 'f', description: 'a', input_schema: { type: 'object' } }],
  tool_choice: { type: 'tool', name: 'f' },
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'a' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'a', signature: 's' },
        { type: 'tool_use', id: 'c', name: 'f', input: {} },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'a' }] }],
    },
  ],
};
const RESPONSES = {
  model: 'm',
  instructions: 'a',
  include: ['reasoning.encrypted_content'],
  reasoning: { effort: 'low' },
  text: { format: { type: 'text' } },
  tools: [
    { type: 'function', ...FUNCTION },
    { type: 'custom', name: 'g', format: { type: 'grammar', syntax: 'lark', definition: 'a' } },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'a' },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'a' }] },
  ],
};

const GEMINI = {
  model: 'm',
  stream: false,
  systemInstruction: { parts: [{ text: 'a' }] },
  generationConfig: {
    maxOutputTokens: 9,
    temperature: 1,
    topK: 64,
    stopSequences: ['x'],
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 },
  },
  tools: [
    { functionDeclarations: [{ name: 'f', description: 'a', parametersJsonSchema: { type: 'object' } }] },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
  contents: [
    { role: 'user', parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AA' } }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'a' } } }] },
  ],
};

export const REQUESTS = {
  'chat/completions': CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
  gemini: GEMINI,
};
