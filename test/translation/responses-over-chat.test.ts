import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import type { Json } from '../../src/translation/json.ts';
import { createItemMemory } from '../../src/translation/responses-over-chat/item-memory.ts';
import { chatRequest } from '../../src/translation/responses-over-chat/request.ts';
import { translateForResponses } from '../../src/translation/responses-over-chat/translator.ts';
import { messagesOfResponses } from '../../src/translation/responses-over-messages.ts';
import { chunkBody, completionBody, errorBody, usageOf } from '../support/chat-shapes.ts';
import { hasOpenAiSchema, openAiEventFaults, openAiFaults } from '../support/openai-schema.ts';
import { type Event, eventText, readEvents } from '../wire/support/event-scripts.ts';

/** The schema of responses takes seconds to compile. */
const LONG = { timeout: 30_000 };
const memory = createItemMemory();
const OPTIONS = { outputLimit: 'max_tokens', memory, keepsReasoning: false, isCodex: false } as const;
const translate = (request: object) => chatRequest({ model: 'm', input: 'Hi', ...request }, OPTIONS);
const messages = (...input: object[]) => translate({ input }).messages;
const says = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});
const call = (id: string, name: string, args: string, rest: object = {}) => ({
  ...{ type: 'function_call', id: `fc_${id}`, status: 'completed' },
  ...{ call_id: id, name, arguments: args, ...rest },
});
const refused = (request: object): string | null => {
  try {
    translate(request);
  } catch (error) {
    if (error instanceof GwError && error.code === 'unsupported_parameter') return error.param;
    throw error;
  }
  return 'taken';
};

describe('the input', () => {
  test('a text is what the user says; instructions and developers are the one system message in front', () => {
    expect(translate({ instructions: 'Be brief' }).messages).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Hi' },
    ]);
    const list = [
      says('developer', 'One'),
      { role: 'system', content: 'Two' },
      { role: 'user', content: 'Hi' },
    ];
    expect(
      translate({ instructions: 'Zero', input: [...list, says('developer', 'Later')] }).messages,
    ).toEqual([
      { role: 'system', content: 'Zero\n\nOne\n\nTwo' },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Later' },
    ]);
  });

  test('what the model said and called is one message, and each result has its own', () => {
    expect(
      messages(
        says('user', 'Hi'),
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'theirs' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'So', annotations: [] }],
        },
        call('a', 'f', '{"x":1}'),
        call('b', 'g', '{}'),
        { type: 'function_call_output', call_id: 'a', output: 'one' },
        {
          type: 'function_call_output',
          call_id: 'b',
          output: [
            { type: 'input_text', text: 'two' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBO', detail: 'auto' },
          ],
        },
      ),
    ).toEqual([
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: 'So',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }] },
    ]);
  });

  test('images, files and sounds are content parts', () => {
    const audio = { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } };
    const content = [
      { type: 'input_text', text: 'See' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
      audio,
    ];
    expect(messages({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
          audio,
        ],
      },
    ]);
  });

  test('a reference is the item that was answered, as long as gw knows it', () => {
    memory.remember({
      id: 'msg_9',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'So' }],
    });
    expect(messages(says('user', 'Hi'), { type: 'item_reference', id: 'msg_9' })).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'So' },
    ]);
    expect(refused({ input: [{ type: 'item_reference', id: 'msg_0' }] })).toBe('input[0]');
  });
});

test('the memory keeps what is new within its size', () => {
  const small = createItemMemory(100);
  for (const id of ['a', 'b', 'c']) small.remember({ id, text: 'x'.repeat(20) });
  expect([small.recall('a'), small.recall('c')]).toEqual([undefined, { id: 'c', text: 'x'.repeat(20) }]);
});

describe('tools', () => {
  const f = { type: 'function', name: 'f', description: 'F', parameters: { type: 'object' }, strict: false };

  test('functions, those of namespaces, and texts that a custom tool takes', () => {
    const custom = {
      type: 'custom',
      name: 'patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    };
    const namespace = {
      type: 'namespace',
      name: 'agents',
      description: 'A',
      tools: [{ ...f, strict: true }],
    };
    const { tools, tool_choice } = translate({
      tools: [f, namespace, custom],
      tool_choice: 'auto',
    });
    expect(tool_choice).toBe('auto');
    expect(tools).toEqual([
      { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' } } },
      {
        type: 'function',
        function: { name: 'agents__f', description: 'F', parameters: { type: 'object' }, strict: true },
      },
      {
        type: 'function',
        function: {
          name: 'patch',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string', description: expect.stringContaining('start: "x"') } },
            required: ['input'],
          },
        },
      },
    ]);
  });

  test.each([
    ['required', 'required'],
    [
      { type: 'function', name: 'f' },
      { type: 'function', function: { name: 'f' } },
    ],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] }, 'required'],
  ])('a choice of %j', (tool_choice, expected) => {
    const request = translate({ tools: [f, { ...f, name: 'g' }], tool_choice, parallel_tool_calls: false });
    expect(request).toMatchObject({ tool_choice: expected, parallel_tool_calls: false });
    expect(request.tools).toHaveLength(typeof tool_choice === 'object' && 'tools' in tool_choice ? 1 : 2);
  });

  test('the web search that Codex offers with every request is left out', () => {
    const request = {
      model: 'm',
      input: 'Hi',
      tools: [f, { type: 'web_search', external_web_access: true }],
    };
    expect(chatRequest(request, { ...OPTIONS, isCodex: true }).tools).toHaveLength(1);
  });

  test('without tools there is nothing to choose', () => {
    expect(translate({ tools: [], tool_choice: 'auto', parallel_tool_calls: false })).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
    });
  });

  test('earlier calls have the names that the tools have now', () => {
    const custom = { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' };
    expect(messages(call('a', 'f', '{}', { namespace: 'agents' }), custom)).toMatchObject([
      {
        tool_calls: [
          { function: { name: 'agents__f' } },
          { function: { name: 'patch', arguments: '{"input":"x"}' } },
        ],
      },
    ]);
  });
});

test("limits, formats, efforts and fields of the provider's own", () => {
  const format = { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true };
  expect(
    translate({
      ...{ stream: true, max_output_tokens: 50, temperature: 0.5, top_p: 0.9, user: 'u', store: true },
      ...{ text: { format, verbosity: 'low' }, reasoning: { effort: 'low', summary: 'auto' } },
      ...{ include: ['reasoning.encrypted_content'], metadata: { a: 'b' }, prompt_cache_key: 'k' },
      ...{
        truncation: 'disabled',
        background: false,
        service_tier: 'flex',
        top_k: 3,
        previous_response_id: null,
      },
    }),
  ).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    ...{
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
      temperature: 0.5,
      top_p: 0.9,
    },
    ...{ user: 'u', verbosity: 'low', reasoning_effort: 'low', service_tier: 'flex', top_k: 3 },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'a', schema: { type: 'object' }, strict: true },
    },
  });
});

test('what a chat completion has no word for is refused by its name', () => {
  expect(refused({ previous_response_id: 'resp_1' })).toBe('previous_response_id');
  expect(refused({ conversation: 'conv_1' })).toBe('conversation');
  expect(refused({ prompt: { id: 'pmpt_1' } })).toBe('prompt');
  expect(refused({ truncation: 'auto' })).toBe('truncation');
  expect(refused({ top_logprobs: 3 })).toBe('top_logprobs');
  expect(refused({ include: ['message.output_text.logprobs'] })).toBe('include[0]');
  expect(refused({ tools: [{ type: 'web_search' }] })).toBe('tools[0].type');
  expect(refused({ tools: [{ type: 'mcp', server_label: 'x' }] })).toBe('tools[0].type');
  expect(refused({ tools: [{ type: 'function', name: 'f' }], tool_choice: { type: 'file_search' } })).toBe(
    'tool_choice.type',
  );
  expect(refused({ input: [{ type: 'computer_call' }] })).toBe('input[0].type');
  const image = { type: 'input_image', file_id: 'file_1' };
  expect(refused({ input: [{ role: 'user', content: [image] }] })).toBe('input[0].content[0].file_id');
  const file = { type: 'input_file', file_url: 'https://example.com/a.pdf' };
  expect(refused({ input: [{ role: 'user', content: [file] }] })).toBe('input[0].content[0].file_url');
});

test("over Anthropic's wire, names are still those of responses", () => {
  const options = { ...OPTIONS, model: 'claude-opus-4-6', maxTokens: 1000 };
  const over = (request: object) => messagesOfResponses({ model: 'm', input: 'Hi', ...request }, options);
  expect(
    over({ instructions: 'Be brief', max_output_tokens: 50, reasoning: { effort: 'low' } }),
  ).toMatchObject({
    max_tokens: 50,
    system: [{ text: 'Be brief' }],
    output_config: { effort: 'low' },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  expect(() => over({ text: { format: { type: 'json_object' } } })).toThrow(
    '"text.format" cannot be expressed',
  );
  expect(() =>
    over({ input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }),
  ).toThrow('"input" cannot be expressed');
});

let ids = 0;
const translator = (request: object = {}) => {
  ids = 0;
  return translateForResponses({
    model: 'mock/m',
    wantsUsage: true,
    now: () => 1_700_000_000_000,
    request: { model: 'mock/m', input: 'Hi', ...request },
    newId: (prefix) => `${prefix}_${ids++}`,
    memory,
  });
};
const answered = (body: object, request: object = {}) => {
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
  test('a text, with its usage and what the request said', () => {
    const request = { instructions: 'Be brief', max_output_tokens: 9, metadata: { a: 'b' }, temperature: 0 };
    expect(answered(completionBody('m', 'Hello', USAGE), request)).toMatchObject({
      ...{ object: 'response', status: 'completed', error: null, model: 'm', ...request },
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

  test('thoughts, refusals, and calls by the names that the client knows', () => {
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
    expect(answered(body, { tools: [] }).output).toHaveLength(4);
    expect(
      JSON.parse(
        translator({ tools })
          .answer(Buffer.from(JSON.stringify(body)), 200)
          .toString(),
      ).output,
    ).toEqual([
      { id: expect.any(String), type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
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
  ])('%s is incomplete', (finish_reason, reason) => {
    const answer = answered(completionBody('m', 'Hel', USAGE, { finish_reason }));
    expect(answer).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
    expect(answer.output).toMatchObject([{ status: 'incomplete' }]);
  });

  test("errors are in OpenAI's shape, or are brought into it", () => {
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

  test('a text, event by event', () => {
    const events = streamed([
      chunkBody('m', { delta: { role: 'assistant', content: '' } }),
      word('Hel'),
      word('lo'),
      finish('stop'),
      usage,
    ]);
    expect(names(events)).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ]);
    expect(events.at(-1)?.[1].response).toMatchObject({
      status: 'completed',
      output: [{ type: 'message', content: [{ text: 'Hello' }] }],
      usage: { input_tokens: 100, output_tokens: 50 },
    });
  });

  test('thoughts come before, parallel calls mixed, and each is whole at its end', () => {
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

  test('calls that share an index are told apart by their ids', () => {
    const whole = (id: string) =>
      chunkBody('m', { delta: { tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{}' } }] } });
    const events = streamed([whole('a'), whole('b'), finish('tool_calls')]);
    expect(events.at(-1)?.[1].response).toMatchObject({
      output: [{ call_id: 'a' }, { call_id: 'b' }],
      usage: null,
    });
  });

  test('a custom tool gets its text in one piece', () => {
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
      ...['output_item.added', 'custom_tool_call_input.delta', 'custom_tool_call_input.done'],
      ...['output_item.done', 'completed'],
    ]);
    expect(events.at(-2)?.[1].item).toMatchObject({ type: 'custom_tool_call', input: 'x' });
  });

  test('the limit makes it incomplete, an error fails it, and a cut leaves it without an end', () => {
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
    expect(names(streamed([word('Hel')])).at(-1)).toBe('output_text.delta');
  });
});
