import type { Event } from './event-scripts.ts';

/** OpenAI's response bodies as plain objects. */
export function responseUsage(input: number, output: number, cached = 0, reasoning = 0) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

export function messageItem(text: string) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  };
}

export function callItem(id: string, name: string, args: string) {
  return { id: `fc_${id}`, type: 'function_call', status: 'completed', call_id: id, name, arguments: args };
}

export function responseBody(output: object[], rest: object = {}) {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_767_225_600,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: 'test-model',
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: responseUsage(20, 5),
    metadata: {},
    ...rest,
  };
}

/** The events of a streamed text, with the closing event `last`. */
export function responseEvents(words: string[], last: Event, rest: object = {}): Event[] {
  const response = responseBody([], { ...rest, status: 'in_progress', usage: null });
  const text = words.join('');
  const item = { ...messageItem(''), status: 'in_progress', content: [] };
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const data: [string, object][] = [
    ['response.created', { response }],
    ['response.in_progress', { response }],
    ['response.output_item.added', { output_index: 0, item }],
    [
      'response.content_part.added',
      { ...at, part: { type: 'output_text', text: '', annotations: [], logprobs: [] } },
    ],
    ...words.map((delta): [string, object] => ['response.output_text.delta', { ...at, delta, logprobs: [] }]),
    ['response.output_text.done', { ...at, text, logprobs: [] }],
    [
      'response.content_part.done',
      { ...at, part: { type: 'output_text', text, annotations: [], logprobs: [] } },
    ],
    ['response.output_item.done', { output_index: 0, item: messageItem(text) }],
  ];
  const events = data.map(([type, fields], i): Event => [type, { type, sequence_number: i, ...fields }]);
  return [...events, last];
}

export function lastEvent(type: string, response: object): Event {
  return [type, { type, sequence_number: 99, response }];
}

/** The events of a complete streamed response. */
export function completedEvents(words: string[], rest: object = {}): Event[] {
  const response = responseBody([messageItem(words.join(''))], rest);
  return responseEvents(words, lastEvent('response.completed', response), rest);
}
