import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { chunkBody } from '../support/chat-shapes.ts';
import { hasOpenAiSchema, openAiEventFaults, openAiFaults } from '../support/openai-schema.ts';
import type { Script } from '../support/scripts.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { type Event, eventText, readEvents } from '../wire/support/event-scripts.ts';
import { messageStream, text } from '../wire/support/messages-shapes.ts';
import { callItem, completedEvents, responseBody } from '../wire/support/responses-shapes.ts';
import { send } from '../wire/support/send.ts';

const WORDS = Array.from({ length: 3_000 }, (_, i) => ` word${i}`);
/** The schema of responses takes seconds to compile. */
const LONG = { timeout: 30_000 };
const BUDGET = { budget: { capUsd: 5, period: 'daily' } } as const;

/** Sends the events, then nothing: only gw can end the answer. */
function endless(list: Event[]): Script {
  return async (exchange) => {
    await exchange.body;
    await exchange.start(200, { 'content-type': 'text/event-stream' });
    for (const event of list) await exchange.chunk(eventText(event));
    await exchange.untilGone();
  };
}

const chat = (choices: object[]): Event[] => choices.map((choice) => ['', chunkBody('test-model', choice)]);

test('chat completions end with finish reason length in every choice, and the usage if requested', async () => {
  const gateway = await startBothWires(BUDGET);
  const both = WORDS.flatMap((content) => [0, 1].map((index) => ({ index, delta: { content } })));
  gateway.upstream.queue(endless(chat([...both, { index: 1, finish_reason: 'stop' }])));
  const body = {
    model: 'mock/test-model',
    messages: [{ role: 'user' as const, content: 'Hi' }],
    max_tokens: 50,
  };
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const asked = { ...body, n: 2, stream: true as const, stream_options: { include_usage: true } };
  const chunks = [];
  for await (const chunk of await client.chat.completions.create(asked)) chunks.push(chunk);
  const ends = chunks
    .flatMap(({ choices }) => choices)
    .filter(({ finish_reason }) => finish_reason === 'length');
  expect(ends.map(({ index }) => index)).toContain(0);
  const [record] = await gateway.settled(1);
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: record?.outputTokens } });
  if (hasOpenAiSchema)
    for (const chunk of chunks.slice(-3))
      expect(openAiFaults('CreateChatCompletionStreamResponse', chunk)).toEqual([]);
  expect(record).toMatchObject({ outcome: 'capped', flags: ['stream', 'estimated'] });
});

test('responses end as incomplete, with all of the text', LONG, async () => {
  const gateway = await startBothWires(BUDGET);
  gateway.upstream.script(endless(completedEvents(WORDS).slice(0, -4)));
  const body = { model: 'mock/test-model', input: 'Hi', max_output_tokens: 50 };
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
  const types: string[] = [];
  let last: OpenAI.Responses.ResponseStreamEvent | undefined;
  for await (const event of await client.responses.create({ ...body, stream: true })) {
    types.push(event.type);
    last = event;
    if (hasOpenAiSchema && !event.type.endsWith('.delta')) expect(openAiEventFaults(event)).toEqual([]);
  }
  expect(types.slice(-4)).toEqual([
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.incomplete',
  ]);
  const [record] = await gateway.settled(1);
  expect(last).toMatchObject({
    sequence_number: types.length - 1,
    response: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete', content: [{ text: expect.stringContaining(' word50') }] }],
      usage: { output_tokens: record?.outputTokens },
    },
  });
  expect(record).toMatchObject({ endpoint: 'responses', outcome: 'capped' });
});

test('unfinished calls and reasoning items of responses are closed', LONG, async () => {
  const gateway = await startBothWires(BUDGET);
  const item = { ...callItem('a', 'f', ''), status: 'in_progress' };
  const at = { output_index: 1, item_id: item.id };
  const thought = { id: 'rs_1', type: 'reasoning', summary: [] };
  const where = { output_index: 0, item_id: 'rs_1', summary_index: 0 };
  const begun = responseBody([], { status: 'in_progress', usage: null });
  const typed: [string, object][] = [
    ['response.created', { response: begun }],
    ['response.output_item.added', { output_index: 0, item: thought }],
    ['response.reasoning_summary_part.added', { ...where, part: { type: 'summary_text', text: '' } }],
    ['response.reasoning_summary_text.delta', { ...where, delta: 'Hm' }],
    ['response.output_item.added', { output_index: 1, item }],
    ...WORDS.map((delta): [string, object] => ['response.function_call_arguments.delta', { ...at, delta }]),
  ];
  const list = typed.map(([type, rest], i): Event => [type, { type, sequence_number: i, ...rest }]);
  gateway.upstream.queue(endless(list));
  const body = { model: 'mock/test-model', input: 'Hi', max_output_tokens: 50, stream: true };
  const events = readEvents((await send(gateway, '/v1/responses', body)).body) as [
    string,
    { type: string },
  ][];
  expect(events.slice(-6).map(([name]) => name.replace('response.', ''))).toEqual([
    ...['reasoning_summary_text.done', 'reasoning_summary_part.done', 'output_item.done'],
    ...['function_call_arguments.done', 'output_item.done', 'incomplete'],
  ]);
  if (hasOpenAiSchema) expect(events.slice(-6).flatMap(([, event]) => openAiEventFaults(event))).toEqual([]);
  expect(events.at(-1)?.[1]).toMatchObject({
    response: {
      output: [
        { type: 'reasoning', summary: [{ text: 'Hm' }] },
        { type: 'function_call', status: 'incomplete', arguments: expect.stringContaining(' word50') },
      ],
    },
  });
});

test.each([
  ['chat completions', 'mock/test-model', chat(WORDS.map((content) => ({ delta: { content } })))],
  ["Anthropic's messages", `anthropic/${CLAUDE}`, messageStream([text(WORDS.join(''))]).slice(0, -3)],
])('responses over %s end as incomplete', LONG, async (_name, model, list) => {
  const gateway = await startBothWires(BUDGET);
  gateway.upstream.script(async (exchange) => {
    const isResponses = exchange.request.path === '/v1/responses';
    if (isResponses) await exchange.send(404, {}, '');
    else await endless(list)(exchange);
  });
  const body = { model, input: 'Hi', max_output_tokens: 50, stream: true };
  const events = readEvents((await send(gateway, '/v1/responses', body)).body) as [
    string,
    { type: string },
  ][];
  const [record] = await gateway.settled(1);
  expect(events.at(-1)).toMatchObject([
    'response.incomplete',
    { response: { usage: { output_tokens: record?.outputTokens }, output: [{ status: 'incomplete' }] } },
  ]);
  if (hasOpenAiSchema) expect(events.slice(-4).flatMap(([, event]) => openAiEventFaults(event))).toEqual([]);
  expect(record).toMatchObject({ outcome: 'capped' });
});

test('messages end with max_tokens and the booked usage', async () => {
  const gateway = await startBothWires(BUDGET);
  gateway.upstream.queue(endless(messageStream([text('a'), text(WORDS.join(''))]).slice(0, -3)));
  const messages = [{ role: 'user', content: 'Hi' }];
  const body = { model: CLAUDE, messages, max_tokens: 50, stream: true };
  const list = readEvents((await send(gateway, '/v1/messages', body)).body);
  const [record] = await gateway.settled(1);
  expect(list.slice(-3)).toMatchObject([
    ['content_block_stop', { index: 1 }],
    [
      'message_delta',
      { delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: record?.outputTokens } },
    ],
    ['message_stop', {}],
  ]);
});
