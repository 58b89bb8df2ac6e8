import type { Event } from './event-scripts.ts';

/** Anthropic's message bodies as plain objects. */
export function messageUsage(input: number, output: number, rest: object = {}) {
  return {
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
    service_tier: 'standard',
    ...rest,
  };
}

export const text = (value: string) => ({ type: 'text', text: value });
export const toolUse = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });

export function messageBody(content: object[], rest: object = {}) {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: messageUsage(20, 5),
    ...rest,
  };
}

export interface StreamedMessage {
  /** The usage in message_start. */
  startUsage?: object;
  /** The usage in message_delta. */
  endUsage?: object;
  stopReason?: string;
  /** What else the message has: its id, its model. */
  rest?: object;
}

/** The events of a message, with text and thinking word by word and tool input in two pieces. */
export function messageStream(content: Record<string, unknown>[], options: StreamedMessage = {}): Event[] {
  const {
    startUsage = messageUsage(20, 1),
    endUsage = { output_tokens: 5 },
    stopReason = 'end_turn',
    rest,
  } = options;
  const message = messageBody([], { stop_reason: null, usage: startUsage, ...rest });
  return namedEvents([
    { type: 'message_start', message },
    { type: 'ping' },
    ...content.flatMap((block, index) => blockEvents(block, index)),
    { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage: endUsage },
    { type: 'message_stop' },
  ]);
}

type EventData = { type: string; [field: string]: unknown };

function blockEvents(block: Record<string, unknown>, index: number): EventData[] {
  const start = (content_block: object) => ({ type: 'content_block_start', index, content_block });
  const delta = (each: object) => ({ type: 'content_block_delta', index, delta: each });
  const stop = { type: 'content_block_stop', index };
  if (block.type === 'tool_use') {
    const json = JSON.stringify(block.input);
    const pieces = json === '{}' ? [''] : ['', json.slice(0, 4), json.slice(4)];
    const deltas = pieces.map((partial_json) => delta({ type: 'input_json_delta', partial_json }));
    return [start({ ...block, input: {} }), ...deltas, stop];
  }
  if (block.type === 'thinking') {
    const deltas = words(block.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking }));
    const signature = delta({ type: 'signature_delta', signature: block.signature });
    return [start({ type: 'thinking', thinking: '', signature: '' }), ...deltas, signature, stop];
  }
  const texts = words(block.text).map((each) => delta({ type: 'text_delta', text: each }));
  return [start({ type: 'text', text: '' }), ...texts, stop];
}

const words = (value: unknown) => String(value).match(/\s*\S+(?:\s+$)?/g) ?? [];

function namedEvents(values: EventData[]): Event[] {
  return values.map((value) => [value.type, value]);
}

export function anthropicError(type: string, message: string) {
  return { type: 'error', error: { type, message }, request_id: 'req_upstream' };
}
