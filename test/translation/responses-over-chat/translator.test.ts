import { describe, expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { createItemMemories } from '../../../src/translation/carry/item-memory.ts';
import type { Json } from '../../../src/translation/json.ts';
import { chunkBody, completionBody, errorBody, usageOf } from '../../support/chat-shapes.ts';
import { hasOpenAiSchema, openAiEventFaults, openAiFaults } from '../../support/openai-schema.ts';
import { type Event, eventText, readEvents } from '../../wire/support/event-scripts.ts';
import { chatForResponses } from '../support/translations.ts';

/** Compiling the schema of responses takes seconds. */
const LONG = { timeout: 30_000 };

let ids = 0;
const translator = (request: object = {}) => {
  ids = 0;
  return chatForResponses.answers({
    model: 'mock/m',
    wantsUsage: true,
    now: () => 1_700_000_000_000,
    request: { model: 'mock/m', input: 'Hi', ...request },
    newId: (prefix) => `${prefix}_${ids++}`,
    memory: createItemMemories()(1),
  });
};
const translated = (body: object, request: object = {}) => {
  const answer = JSON.parse(
    translator(request)
      .answer(Buffer.from(JSON.stringify(body)), 200)
      .toString(),
  ) as Json;
  if (hasOpenAiSchema) expect(openAiFaults('Response', answer)).toEqual([]);
  return answer;
};
const streamed = (chunks: object[], request: object = {}, last: 'done' | 'end' = 'done') => {
  const each = translator(request);
  const list: Event[] = chunks.map((chunk): Event => ['', chunk]);
  const out = list.map((event) => each.events(Buffer.from(eventText(event))));
  const closing = last === 'done' ? each.events(Buffer.from(eventText(['', '[DONE]']))) : Buffer.alloc(0);
  const events = readEvents(Buffer.concat([...out, closing, each.end()])) as [string, Json][];
  expect(events.map(([, { sequence_number }]) => sequence_number)).toEqual(events.map((_, i) => i));
  expect(events.every(([name, { type }]) => name === type)).toBe(true);
  if (hasOpenAiSchema) expect(events.flatMap(([, event]) => openAiEventFaults(event))).toEqual([]);
  return events;
};
const USAGE = {
  ...usageOf(100, 50, 40),
  completion_tokens_details: { reasoning_tokens: 30 },
};

describe('answers', LONG, () => {
  test('a text, with its usage and the repeated fields of the request', () => {
    const request = { instructions: 'Be brief', max_output_tokens: 9, metadata: { a: 'b' }, temperature: 0 };
    expect(translated(completionBody('m', 'Hello', USAGE), request)).toMatchObject({
      object: 'response',
      status: 'completed',
      error: null,
      model: 'm',
      ...request,
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello' }],
        },
      ],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 40 },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 30 },
        total_tokens: 150,
      },
    });
  });

  test("reasoning, refusals, and calls with the client's tool names", () => {
    const tools = [
      { type: 'namespace', name: 'agents', description: 'A', tools: [{ type: 'function', name: 'f' }] },
      { type: 'custom', name: 'patch' },
    ];
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'agents__f', arguments: '' } },
      { id: '', type: 'function', function: { name: 'patch', arguments: '{"input":"x"}' } },
    ];
    const message = { role: 'assistant', content: null, refusal: 'No', reasoning: 'Hm', tool_calls };
    const body = completionBody('m', '', USAGE, { message, finish_reason: 'tool_calls' });
    expect(translated(body, { tools: [] }).output).toHaveLength(4);
    expect(
      JSON.parse(
        translator({ tools })
          .answer(Buffer.from(JSON.stringify(body)), 200)
          .toString(),
      ).output,
    ).toEqual([
      {
        id: expect.any(String),
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Hm' }],
        encrypted_content: expect.stringMatching(/^gw1\./),
      },
      expect.objectContaining({ type: 'message', content: [{ type: 'refusal', refusal: 'No' }] }),
      expect.objectContaining({
        type: 'function_call',
        call_id: 'a',
        name: 'f',
        namespace: 'agents',
        arguments: '{}',
      }),
      expect.objectContaining({
        type: 'custom_tool_call',
        call_id: expect.stringMatching(/^call_/),
        name: 'patch',
        input: 'x',
      }),
    ]);
  });

  test.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('finish reason %s makes the response incomplete', (finish_reason, reason) => {
    const answer = translated(completionBody('m', 'Hel', USAGE, { finish_reason }));
    expect(answer).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
    expect(answer.output).toMatchObject([{ status: 'incomplete' }]);
  });

  test("errors in OpenAI's format pass unchanged, others are translated", () => {
    const error = (body: string) => translator().answer(Buffer.from(body), 500).toString();
    const own = JSON.stringify(errorBody('No', 'api_error', null));
    expect(error(own)).toBe(own);
    expect(JSON.parse(error('<html>'))).toMatchObject({ error: { message: '<html>', param: null } });
    expect(JSON.parse(error('{"error":"no such thing"}'))).toMatchObject({
      error: { message: 'no such thing' },
    });
    expect(() => translator().answer(Buffer.from('<html>'), 200)).toThrow(GwError);
  });
});

describe('streams', LONG, () => {
  const word = (content: string) => chunkBody('m', { delta: { content } });
  const finish = (finish_reason: string) => chunkBody('m', { finish_reason });
  const usage = chunkBody('m', undefined, { usage: USAGE });
  const names = (events: [string, Json][]) => events.map(([name]) => name.replace('response.', ''));

  test('a text produces the events of OpenAI in order', () => {
    const events = streamed([
      chunkBody('m', { delta: { role: 'assistant', content: '' } }),
      word('Hel'),
      word('lo'),
      finish('stop'),
      usage,
    ]);
    expect(names(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.at(-1)?.[1].response).toMatchObject({
      status: 'completed',
      output: [{ type: 'message', content: [{ text: 'Hello' }] }],
      usage: { input_tokens: 100, output_tokens: 50 },
    });
  });

  test('reasoning, text and interleaved parallel calls become complete items', () => {
    const piece = (index: number, args: string, rest: object = {}) =>
      chunkBody('m', { delta: { tool_calls: [{ index, ...rest, function: { ...rest, arguments: args } }] } });
    const events = streamed([
      chunkBody('m', { delta: { reasoning_content: 'Hm' } }),
      word('So'),
      piece(0, '', { id: 'a', name: 'f' }),
      piece(1, '', { id: 'b', name: 'g' }),
      piece(0, '{"x"'),
      piece(1, '{}'),
      piece(0, ':1}'),
      finish('tool_calls'),
      usage,
    ]);
    expect(events.at(-1)?.[1].response).toMatchObject({
      output: [
        { type: 'reasoning', summary: [{ text: 'Hm' }] },
        { type: 'message', content: [{ text: 'So' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call', call_id: 'b', name: 'g', arguments: '{}' },
      ],
    });
    expect(names(events).filter((name) => name === 'output_item.done')).toHaveLength(4);
    expect(names(events).filter((name) => name === 'function_call_arguments.delta')).toHaveLength(3);
  });

  test('signed reasoning without text has no summary', () => {
    const thinking_blocks = [{ type: 'redacted_thinking', data: 'x' }];
    const events = streamed([chunkBody('m', { delta: { thinking_blocks } }), word('So'), finish('stop')]);
    expect(names(events).slice(2, 5)).toEqual(['output_item.added', 'output_item.done', 'output_item.added']);
    expect(events[3]?.[1].item).toMatchObject({ type: 'reasoning', summary: [] });
  });

  test('calls of tools in the input have the names that the client uses', () => {
    const exec = { type: 'custom', name: 'exec' };
    const namespace = { type: 'namespace', name: 'functions', tools: [exec] };
    const call = { index: 0, id: 'a', function: { name: 'functions__exec', arguments: '{"input":"ls"}' } };
    const events = streamed([chunkBody('m', { delta: { tool_calls: [call] } }), finish('tool_calls')], {
      input: [{ type: 'additional_tools', role: 'developer', tools: [namespace] }],
    });
    expect(events.at(-2)?.[1].item).toMatchObject({
      type: 'custom_tool_call',
      name: 'exec',
      namespace: 'functions',
      input: 'ls',
    });
  });

  test('calls with the same index are distinguished by their ids', () => {
    const whole = (id: string) =>
      chunkBody('m', { delta: { tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{}' } }] } });
    const events = streamed([whole('a'), whole('b'), finish('tool_calls')]);
    expect(events.at(-1)?.[1].response).toMatchObject({
      output: [{ call_id: 'a' }, { call_id: 'b' }],
      usage: null,
    });
  });

  test('the input of a custom tool arrives in one piece', () => {
    const tools = [{ type: 'custom', name: 'patch' }];
    const piece = (args: string, rest: object = {}) =>
      chunkBody('m', {
        delta: { tool_calls: [{ index: 0, ...rest, function: { ...rest, arguments: args } }] },
      });
    const events = streamed(
      [piece('{"in', { id: 'a', name: 'patch' }), piece('put":"x"}'), finish('tool_calls')],
      { tools },
    );
    expect(names(events).slice(2)).toEqual([
      'output_item.added',
      'custom_tool_call_input.delta',
      'custom_tool_call_input.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.at(-2)?.[1].item).toMatchObject({ type: 'custom_tool_call', input: 'x' });
  });

  test('the output limit ends it as incomplete, an error as failed, and a broken stream gets no end', () => {
    expect(streamed([word('Hel'), finish('length')]).at(-1)).toMatchObject([
      'response.incomplete',
      { response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } } },
    ]);
    expect(streamed([word('Hel'), errorBody('Overloaded', 'server_error', null)]).at(-1)).toMatchObject([
      'response.failed',
      { response: { status: 'failed', error: { code: 'server_error', message: 'Overloaded' } } },
    ]);
    expect(names(streamed([word('Hel')], {}, 'end')).at(-1)).toBe('output_text.delta');
    expect(names(streamed([word('Hel'), finish('stop')], {}, 'end')).at(-1)).toBe('completed');
    expect(names(streamed([word('Hel')])).at(-1)).toBe('completed');
  });
});
