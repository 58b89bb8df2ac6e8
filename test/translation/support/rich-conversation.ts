import type { Conversation } from '../../../src/translation/conversation/conversation.ts';
import { IMAGE, MARK, OPAQUE, SCHEMA, SIGNED } from './rich-requests.ts';

/** A request of Bedrock's Converse. */
export const CONVERSE = {
  modelId: 'client/model',
  system: [
    { text: 'Rule One' },
    { cachePoint: { type: 'default' } },
    { guardContent: { text: { text: 'Rule Two' } } },
  ],
  inferenceConfig: { maxTokens: 500, temperature: 0.5, topP: 1, stopSequences: ['END OF IT'] },
  additionalModelRequestFields: { top_k: 5, output_config: { effort: 'low' } },
  performanceConfig: { latency: 'standard' },
  serviceTier: { type: 'default' },
  requestMetadata: { team: 'A Team' },
  outputConfig: {
    textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: '{"type":"object"}' } } },
  },
  toolConfig: {
    toolChoice: { tool: { name: 'look-up' } },
    tools: [
      { toolSpec: { name: 'look-up', description: 'Looks up', inputSchema: { json: SCHEMA }, strict: true } },
      { cachePoint: { type: 'default', ttl: '1h' } },
    ],
  },
  messages: [
    {
      role: 'user',
      content: [
        { text: 'Question One' },
        { image: { format: 'png', source: { bytes: 'AAAA' } } },
        {
          document: {
            format: 'pdf',
            name: 'A File',
            source: { bytes: 'BBBB' },
            citations: { enabled: false },
          },
        },
        { document: { format: 'md', name: 'B File', source: { bytes: 'QUJD' }, context: 'A Context' } },
        { document: { source: { text: 'A Text' } } },
        { document: { source: { content: [{ text: 'A Part' }] } } },
        {
          searchResult: {
            title: 'A Title',
            source: 'A Source',
            content: [{ text: 'Found' }],
            citations: { enabled: true },
          },
        },
      ],
    },
    {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Plain thought', signature: 'SIG' } } },
        { reasoningContent: { redactedContent: 'QUJD' } },
        { citationsContent: { content: [{ text: 'Cited' }, {}] } },
        { toolUse: { toolUseId: 'call_1', name: 'look-up', input: { a: 'Arg' } } },
        { toolUse: { toolUseId: 'call_2', name: 'look-up' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          toolResult: {
            toolUseId: 'call_1',
            content: [{ json: { a: 1 } }, { text: 'Result One' }],
            status: 'error',
          },
        },
        { toolResult: { toolUseId: 'call_2', content: [] } },
      ],
    },
  ],
};

/** A conversation with each kind of part, as readers make them. */
export const RICH_CONVERSATION: Conversation = {
  model: 'client/model',
  isStream: true,
  maxTokens: 500,
  temperature: 1,
  topP: 1,
  stops: ['END OF IT', ' '],
  user: 'User One',
  serviceTier: 'default',
  isSerial: true,
  reasoning: { effort: 'low' },
  format: { type: 'json_schema', name: 'Form', description: 'A form', schema: SCHEMA, isStrict: true },
  extra: { seed: 7, metadata: { user_id: 'User Two', label: 'A Label' } },
  tools: [
    { name: 'look-up', description: 'Looks up', parameters: SCHEMA, isStrict: true, mark: MARK },
    { name: 'list-all', parameters: { type: 'object' } },
  ],
  choice: { name: 'look-up' },
  turns: [
    { role: 'system', parts: [{ type: 'text', text: 'Rule One', mark: MARK }] },
    { role: 'system', parts: [{ type: 'text', text: 'Rule Two' }] },
    {
      role: 'user',
      parts: [
        { type: 'text', text: 'Question One' },
        { type: 'image', at: 'AT', url: IMAGE, detail: 'high', mark: MARK },
        { type: 'file', at: 'AT', url: 'https://example.com/a.pdf', name: 'A File' },
      ],
    },
    {
      role: 'assistant',
      parts: [
        {
          type: 'reasoning',
          text: 'Plain thought',
          seals: [
            { kind: 'text', values: [{ text: 'Sealed thought' }] },
            { kind: 'thinking', values: [SIGNED] },
            { kind: 'encrypted', values: [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'ENC' }] },
            { kind: 'calls', values: [OPAQUE] },
          ],
        },
        { type: 'text', text: 'Answer One' },
        { type: 'call', id: 'call_1', name: 'look-up', args: '{"a":"Arg"}', at: 'AT', mark: MARK },
        { type: 'call', id: 'call_2', name: 'list-all', args: '', at: 'AT' },
      ],
    },
    {
      role: 'user',
      parts: [
        { type: 'result', id: 'call_2', isError: true, parts: [{ type: 'text', text: 'Result Two' }] },
        {
          type: 'result',
          id: 'call_1',
          isError: false,
          parts: [
            { type: 'text', text: 'Result One' },
            { type: 'image', at: 'AT', url: 'https://example.com/b.png' },
          ],
          mark: MARK,
        },
        { type: 'text', text: 'Question Two' },
      ],
    },
    { role: 'assistant', parts: [{ type: 'text', text: 'Answer Two' }] },
    { role: 'user', parts: [{ type: 'text', text: 'Question Three' }] },
  ],
};
