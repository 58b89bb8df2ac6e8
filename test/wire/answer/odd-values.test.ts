import { expect, test } from 'vitest';
import { upstreamMessageId } from '../../../src/gateway/answer/opening.ts';
import { readReportedCost } from '../../../src/pricing/reported-cost.ts';
import {
  readImageUsage,
  readReport,
  readToolCalls,
  readToolRuns,
} from '../../../src/pricing/usage-payload.ts';
import { answerHead } from '../../../src/wire/answer/served-model.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import type { AnswerWire } from '../../../src/wire/wire.ts';
import { ODD, replaced } from '../../support/odd-values.ts';

const CHAT = {
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
  service_tier: 'priority',
  usage: {
    prompt_tokens: 9,
    completion_tokens: 5,
    total_tokens: 14,
    prompt_tokens_details: {
      cached_tokens: 3,
      cache_creation_token_details: { ephemeral_1h_input_tokens: 1 },
    },
    completion_tokens_details: { reasoning_tokens: 2 },
    cost: 0.1,
    cost_details: { upstream_inference_cost: 0.2 },
    server_tool_use: { web_search_requests: 1 },
  },
};
const CHAT_EVENTS = [
  { ...CHAT, choices: [{ index: 0, delta: { role: 'assistant', content: 'a' } }], usage: null },
  { ...CHAT, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
];
const USAGE = {
  input_tokens: 9,
  cache_read_input_tokens: 3,
  cache_creation_input_tokens: 2,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
  output_tokens: 5,
  service_tier: 'priority',
  iterations: [{ type: 'message', model: 'm', input_tokens: 9, output_tokens: 5 }],
  server_tool_use: { web_search_requests: 1 },
};
const MESSAGE = {
  type: 'message',
  id: 'm',
  model: 'm',
  content: [{ type: 'text', text: 'a' }],
  stop_reason: 'end_turn',
  container: { id: 'k' },
  usage: USAGE,
};
const MESSAGE_EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', container: { id: 'k' } }, usage: USAGE },
  { type: 'message_stop' },
];
const RESPONSE = {
  id: 'r',
  model: 'm',
  status: 'completed',
  service_tier: 'priority',
  output: [
    { type: 'code_interpreter_call', id: 'i', container_id: 'k' },
    { type: 'web_search_call', id: 'w', action: { type: 'search', queries: ['a', 'b'] } },
    { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'a' }] },
  ],
  tool_usage: { image_gen: { input_tokens: 1, output_tokens: 2 }, web_search: { num_requests: 1 } },
  usage: { input_tokens: 9, output_tokens: 5, input_tokens_details: { cached_tokens: 3 } },
};
const RESPONSE_EVENTS = [
  { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, output: [] } },
  {
    type: 'response.output_item.added',
    sequence_number: 1,
    output_index: 0,
    item: { type: 'message', id: 'm', status: 'in_progress', content: [] },
  },
  {
    type: 'response.content_part.added',
    sequence_number: 2,
    output_index: 0,
    content_index: 0,
    part: { type: 'output_text', text: '' },
  },
  { type: 'response.output_text.delta', sequence_number: 3, output_index: 0, content_index: 0, delta: 'a' },
  { type: 'response.completed', sequence_number: 4, response: RESPONSE },
];

/** All that is read of an answer, whole or as events. */
function readAll(wire: AnswerWire, answer: Buffer, isStream: boolean): void {
  const usage = isStream ? wire.inspect(answer, false).usage : wire.usageOf(answer);
  readReport(usage);
  readReportedCost('openrouter', usage);
  readToolCalls(usage);
  readToolRuns(usage);
  readImageUsage(usage);
  answerHead(answer, isStream);
  wire.textOf(answer, isStream);
  const relay = { status: 200, isStream, firstEvents: answer, unsent: answer };
  upstreamMessageId(relay as never, { redact: (text: string) => text } as never);
  if (!isStream) return;
  wire.hasContent?.(answer);
  wire.isOver?.(answer);
  const ending = wire.endAtLimit?.();
  ending?.take(answer);
  ending?.end(undefined);
}

const asEvents = (events: readonly unknown[]) =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));

test.each<[string, AnswerWire, object, readonly unknown[]]>([
  ['a chat', chatWire, CHAT, CHAT_EVENTS],
  ['a message', messagesWire, MESSAGE, MESSAGE_EVENTS],
  ['a response', responsesWire, RESPONSE, RESPONSE_EVENTS],
])('%s with an odd value in any place can be read', (_, wire, body, events) => {
  const failures: string[] = [];
  const read = (answer: Buffer, isStream: boolean) => {
    try {
      readAll(wire, answer, isStream);
    } catch (error) {
      failures.push(`${String(error)} for ${answer.toString().slice(0, 400)}`);
    }
  };
  for (const odd of ODD) {
    for (const other of replaced(body, odd)) read(Buffer.from(JSON.stringify(other)), false);
    for (const other of replaced(events, odd)) if (Array.isArray(other)) read(asEvents(other), true);
  }
  expect(failures).toEqual([]);
});
