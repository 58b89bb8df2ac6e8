/** The usage that a provider's answer reports. */
export interface Reported {
  input: number;
  output: number;
}

/** An answer as a provider means it: one JSON value, or the events of a stream. */
export interface Plan {
  events: (object | string)[];
  isStream: boolean;
}

/** The text of every answer. */
export const WORDS = 'The quick brown fox jumps over the lazy dog.';

/** A valid answer of an endpoint, with text. */
export function planOf(path: string, isStream: boolean, reported: Reported): Plan {
  const [, make] = Object.entries(PLANS).find(([end]) => path.endsWith(end)) ?? [];
  return make?.(isStream, reported) ?? { events: [{ object: 'list', data: [] }], isStream: false };
}

const chatUsage = ({ input, output }: Reported) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: 0 },
});
const wireUsage = ({ input, output }: Reported) => ({ input_tokens: input, output_tokens: output });

const chunk = (rest: object, choices: object[]) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices,
  ...rest,
});

const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } };

const PLANS: Record<string, (isStream: boolean, reported: Reported) => Plan> = {
  '/chat/completions': (isStream, reported) => ({
    isStream,
    events: isStream
      ? [
          chunk({}, [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]),
          chunk({}, [{ index: 0, delta: { reasoning_content: 'hm' }, finish_reason: null }]),
          chunk({}, [{ index: 0, delta: { content: WORDS }, finish_reason: null }]),
          chunk({}, [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }]),
          chunk({}, [{ index: 0, delta: {}, finish_reason: 'stop' }]),
          chunk({ usage: chatUsage(reported) }, []),
          '[DONE]',
        ]
      : [
          {
            id: 'c',
            object: 'chat.completion',
            created: 1,
            model: 'm',
            choices: [
              {
                index: 0,
                message: { role: 'assistant', content: WORDS, tool_calls: [call] },
                finish_reason: 'stop',
              },
            ],
            usage: chatUsage(reported),
          },
        ],
  }),
  '/messages': (isStream, reported) => {
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      stop_reason: null,
      stop_sequence: null,
    };
    const content = [
      { type: 'text', text: WORDS },
      { type: 'tool_use', id: 't1', name: 'f', input: { a: 'b' } },
    ];
    if (!isStream)
      return {
        isStream,
        events: [{ ...message, content, stop_reason: 'end_turn', usage: wireUsage(reported) }],
      };
    return {
      isStream,
      events: [
        {
          type: 'message_start',
          message: { ...message, content: [], usage: { input_tokens: reported.input, output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'ping' },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: WORDS } },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 't1', name: 'f', input: {} },
        },
        {
          type: 'content_block_delta',
          index: 1,
          delta: { type: 'input_json_delta', partial_json: '{"a":"b"}' },
        },
        { type: 'content_block_stop', index: 1 },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: reported.output },
        },
        { type: 'message_stop' },
      ],
    };
  },
  '/responses': (isStream, reported) => {
    const item = {
      type: 'message',
      id: 'm1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: WORDS, annotations: [] }],
    };
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
    const completed = {
      ...response,
      status: 'completed',
      output: [item],
      usage: { ...wireUsage(reported), total_tokens: reported.input + reported.output },
    };
    if (!isStream) return { isStream, events: [completed] };
    return {
      isStream,
      events: [
        {
          type: 'response.created',
          sequence_number: 0,
          response: { ...response, status: 'in_progress', output: [], usage: null },
        },
        {
          type: 'response.output_item.added',
          sequence_number: 1,
          output_index: 0,
          item: { ...item, content: [] },
        },
        {
          type: 'response.content_part.added',
          sequence_number: 2,
          item_id: 'm1',
          output_index: 0,
          content_index: 0,
          part: { type: 'output_text', text: '' },
        },
        {
          type: 'response.output_text.delta',
          sequence_number: 3,
          item_id: 'm1',
          output_index: 0,
          content_index: 0,
          delta: WORDS,
        },
        {
          type: 'response.output_text.done',
          sequence_number: 4,
          item_id: 'm1',
          output_index: 0,
          content_index: 0,
          text: WORDS,
        },
        { type: 'response.output_item.done', sequence_number: 5, output_index: 0, item },
        { type: 'response.completed', sequence_number: 6, response: completed },
      ],
    };
  },
  '/completions': (isStream, reported) => {
    const of = (rest: object) => ({
      id: 'c',
      object: 'text_completion',
      created: 1,
      model: 'm',
      choices: [],
      ...rest,
    });
    const choices = [{ index: 0, text: WORDS, finish_reason: 'stop' }];
    const usage = chatUsage(reported);
    return {
      isStream,
      events: isStream ? [of({ choices }), of({ usage }), '[DONE]'] : [of({ choices, usage })],
    };
  },
  '/embeddings': (_, { input }) => ({
    isStream: false,
    events: [
      {
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, 1] }],
        usage: { prompt_tokens: input, total_tokens: input },
      },
    ],
  }),
  '/count_tokens': (_, { input }) => ({ isStream: false, events: [{ input_tokens: input }] }),
};
