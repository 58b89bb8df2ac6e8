import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { createLeftOut } from '../../src/translation/left-out.ts';
import { chunkBody, completionBody, errorBody, usageOf } from '../support/chat-shapes.ts';
import { type Event, eventText, readEvents } from '../wire/support/event-scripts.ts';
import { text, toolUse } from '../wire/support/messages-shapes.ts';
import { chatForMessages } from './support/translations.ts';

const OPTIONS = { maxTokens: 4096, outputLimit: 'max_completion_tokens', leaveOut: () => {} } as const;
const USER = { role: 'user', content: 'Hi' };
const translate = ({ model = 'gpt-5', ...messages }: { model?: string; [field: string]: unknown }) =>
  chatForMessages.request(
    { model: 'alias', max_tokens: 100, messages: [USER], ...messages },
    { ...OPTIONS, model },
  );
const turns = (...messages: object[]) => translate({ messages }).messages;
const NO_PARAMETERS = { type: 'object', properties: {} };
const CACHE = { cache_control: { type: 'ephemeral' } };

describe('messages', () => {
  test('the system prompt comes first; reminders keep their position', () => {
    const { messages } = translate({
      system: [{ ...text('One'), ...CACHE }, text('Two')],
      messages: [USER, { role: 'assistant', content: 'Yes' }, { role: 'system', content: 'Remember' }],
    });
    expect(messages).toEqual([
      { role: 'system', content: 'One\n\nTwo' },
      USER,
      { role: 'assistant', content: 'Yes' },
      { role: 'system', content: 'Remember' },
    ]);
  });

  test("tool calls and results keep their ids; the user's other content follows", () => {
    const result = (id: string, rest: object) => ({
      type: 'tool_result',
      tool_use_id: id,
      ...rest,
      ...CACHE,
    });
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } };
    expect(
      turns(
        USER,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 'x' },
            text('So'),
            toolUse('a', 'f', { x: 1 }),
            toolUse('b', 'g', {}),
          ],
        },
        {
          role: 'user',
          content: [
            result('a', { content: 'one' }),
            result('b', { content: [text('two'), image], is_error: true }),
            text('And?'),
          ],
        },
      ),
    ).toEqual([
      USER,
      {
        role: 'assistant',
        content: 'So',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
          { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: two' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }, text('And?')],
      },
    ]);
  });

  test('documents and images of every source', () => {
    const of = (type: string, source: object, rest = {}) => ({ type, source, ...rest });
    const content = [
      of('image', { type: 'url', url: 'https://x.test/a.png' }),
      of('document', { type: 'base64', media_type: 'application/pdf', data: 'UERG' }, { title: 'a.pdf' }),
      of('document', { type: 'text', media_type: 'text/plain', data: 'Plain' }),
    ];
    expect(turns({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' } },
          { type: 'text', text: 'Plain' },
        ],
      },
    ]);
  });
});

describe('fields', () => {
  test.each([
    [
      { stop_sequences: ['END'], temperature: 0.5, top_p: 0.9, metadata: { user_id: 'u1' } },
      { stop: ['END'], temperature: 0.5, top_p: 0.9, user: 'u1' },
    ],
    [{ stream: true }, { stream: true, stream_options: { include_usage: true } }],
    [
      { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
      { tool_choice: 'required', parallel_tool_calls: false },
    ],
    [
      { tool_choice: { type: 'tool', name: 'f' } },
      { tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    [{ thinking: { type: 'enabled', budget_tokens: 4000 } }, { reasoning_effort: 'medium' }],
    [
      { model: 'openai/gpt-5.2', thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
      { reasoning_effort: 'xhigh' },
    ],
    [{ output_config: { effort: 'max' } }, { reasoning_effort: 'high' }],
    [{ model: 'ollama/qwen3', output_config: { effort: 'high' } }, {}],
    [
      { metadata: { user_id: 'u'.repeat(65) } },
      { user: createHash('sha256').update('u'.repeat(65)).digest('hex') },
    ],
    [{ model: 'gpt-4o', thinking: { type: 'enabled', budget_tokens: 4000 } }, {}],
    [{ context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } }, {}],
    [
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'answer', strict: true, schema: { type: 'object' } },
        },
      },
    ],
  ])('translates %j to %j', (request, expected) => {
    const { model: _model, messages: _messages, ...rest } = translate(request);
    expect(rest).toEqual({ max_completion_tokens: 100, ...expected });
  });

  test('deferred tools are sent in full, and what was found by searching is named', () => {
    const { leaveOut, fields } = createLeftOut();
    const search = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' };
    const found = { type: 'tool_search_tool_result', tool_use_id: 's', content: { tool_references: [] } };
    const chat = chatForMessages.request(
      {
        model: 'alias',
        max_tokens: 100,
        cache_control: { type: 'ephemeral' },
        safeguards: { paths: ['/etc'], rules: [] },
        diagnostics: { previous_message_id: 'msg_1' },
        tools: [search, { name: 'f', input_schema: {}, defer_loading: true }],
        tool_choice: { type: 'auto' },
        messages: [
          USER,
          { role: 'assistant', content: [toolUse('a', 'ToolSearch', { query: 'f' })] },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'a',
                content: [{ type: 'tool_reference', tool_name: 'f' }],
              },
            ],
          },
          {
            role: 'assistant',
            content: [{ type: 'server_tool_use', id: 's', name: search.name, input: {} }, found],
          },
          USER,
        ],
      },
      { ...OPTIONS, model: 'gpt-5', leaveOut },
    );
    expect(chat).toMatchObject({
      tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
      tool_choice: 'auto',
      messages: [
        USER,
        { role: 'assistant', tool_calls: [{ function: { name: 'ToolSearch' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'The tool f is available.' },
        USER,
      ],
    });
    expect(chat).not.toHaveProperty('safeguards');
    expect(fields()).toEqual([
      'messages[].content[] (server_tool_use)',
      'messages[].content[] (tool_search_tool_result)',
      'tools[] (tool_search_tool_regex_20251119)',
      'tools[].defer_loading',
      'safeguards',
      'diagnostics',
    ]);
    expect(translate({ tools: [search], tool_choice: { type: 'auto' } })).not.toHaveProperty('tool_choice');
  });

  test('tools keep names, descriptions and schemas', () => {
    const tool = { name: 'f', description: 'd', input_schema: { type: 'object' }, ...CACHE };
    expect(
      translate({ tools: [tool, { type: 'custom', name: 'g', input_schema: {}, strict: true }] }).tools,
    ).toEqual([
      { type: 'function', function: { name: 'f', description: 'd', parameters: NO_PARAMETERS } },
      { type: 'function', function: { name: 'g', parameters: NO_PARAMETERS, strict: true } },
    ]);
  });

  test.each([
    [{ top_k: 5 }, 'top_k'],
    [{ a_field_of_tomorrow: 1 }, 'a_field_of_tomorrow'],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[0].type'],
    [{ mcp_servers: [{ url: 'https://x.test' }] }, 'mcp_servers'],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      'context_management.edits[0]',
    ],
    [
      { context_management: { edits: [{ type: 'clear_thinking_20251015' }, 'all'] } },
      'context_management.edits[1]',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
      'messages[0].content[0].type',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'messages[0].content[0].source.type',
    ],
  ])('refuses %j', (request, param) => {
    let error: unknown;
    try {
      translate(request);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(GwError);
    expect(error).toMatchObject({ param, status: 400 });
  });
});

const translator = () => chatForMessages.answers({ model: 'm', wantsUsage: true, now: () => 0 });
const answer = (body: object, status = 200) =>
  JSON.parse(
    translator()
      .answer(Buffer.from(JSON.stringify(body)), status)
      .toString(),
  );

describe('answers', () => {
  test('text and calls, with usage as Anthropic counts it', () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
    ];
    const message = { role: 'assistant', content: 'So', reasoning_content: 'Hm', tool_calls: calls };
    const body = completionBody('gpt-5', '', usageOf(100, 7, 60), { message, finish_reason: 'tool_calls' });
    expect(answer(body)).toEqual({
      id: 'chatcmpl-test',
      type: 'message',
      role: 'assistant',
      model: 'gpt-5',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: expect.stringMatching(/^gw1\./) },
        text('So'),
        toolUse('a', 'f', { x: 1 }),
        toolUse('b', 'g', {}),
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60,
        output_tokens: 7,
      },
    });
  });

  test.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('translates %s to %s', (finish_reason, stop_reason) => {
    expect(answer(completionBody('m', 'x', usageOf(1, 1), { finish_reason })).stop_reason).toBe(stop_reason);
  });

  test('the type of an error follows from its status', () => {
    expect(answer(errorBody('Too many', 'tokens', 'rate_limit_exceeded'), 429)).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'Too many' },
    });
    expect(JSON.parse(translator().answer(Buffer.from('<html>'), 502).toString())).toEqual({
      type: 'error',
      error: { type: 'api_error', message: '<html>' },
    });
  });
});

/** The translated events, which must not depend on how the chunks are split into buffers. */
function events(choices: (object | undefined)[], end: string[] = ['[DONE]']): Event[] {
  const list: Event[] = [
    ...choices.map(
      (choice): Event => [
        '',
        chunkBody('gpt-5', choice, choice ? { usage: null } : { usage: usageOf(100, 7, 60) }),
      ],
    ),
    ...end.map((data): Event => ['', data]),
  ];
  const each = translator();
  const bytes = Buffer.concat([
    ...list.map((event) => each.events(Buffer.from(eventText(event)))),
    each.end(),
  ]);
  const all = translator();
  expect(Buffer.concat([all.events(Buffer.from(list.map(eventText).join(''))), all.end()]).toString()).toBe(
    bytes.toString(),
  );
  return readEvents(bytes);
}

const piece = (index: number, args: string, rest: object = {}) => ({
  delta: {
    tool_calls: [{ index, ...rest, function: { ...('id' in rest ? { name: 'f' } : {}), arguments: args } }],
  },
});

describe('streams', () => {
  test('a text is one block, with usage at the end', () => {
    const list = events([
      { delta: { role: 'assistant', content: '' } },
      { delta: { content: 'Hello' } },
      { delta: { content: ' you' } },
      { finish_reason: 'stop' },
      undefined,
    ]);
    expect(list.map(([name]) => name)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(list.at(-2)?.[1]).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60,
        output_tokens: 7,
      },
    });
  });

  test('reasoning, text and parallel calls become blocks, with interleaved pieces assigned to their call', () => {
    const list = events([
      { delta: { reasoning_content: 'Hm' } },
      { delta: { content: 'So' } },
      piece(0, '', { id: 'a', type: 'function' }),
      piece(0, '{"x":'),
      piece(1, '{', { id: 'b', type: 'function' }),
      piece(0, '1}'),
      piece(1, '}'),
      { finish_reason: 'tool_calls' },
    ]);
    const data = list.map(
      ([, each]) => each as { type: string; index: number; delta?: { partial_json?: string } },
    );
    const inputOf = (index: number) =>
      data
        .filter((each) => each.index === index)
        .map(({ delta }) => delta?.partial_json ?? '')
        .join('');
    expect([inputOf(2), inputOf(3)]).toEqual(['{"x":1}', '{}']);
    expect(data.filter(({ type }) => type === 'content_block_stop').map(({ index }) => index)).toEqual([
      0, 1, 2, 3,
    ]);
    expect(data.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  test('accepts reasoning under its other name, text in parts, and calls with the same index', () => {
    const whole = (id: string) => ({
      delta: { tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '{}' } }] },
    });
    const list = events([
      { delta: { reasoning: 'Hm' } },
      { delta: { content: [{ type: 'text', text: 'So' }] } },
      whole('a'),
      whole('b'),
      { finish_reason: 'tool_calls' },
    ]);
    const starts = list.filter(([name]) => name === 'content_block_start').map(([, data]) => data);
    expect(starts).toMatchObject([
      { content_block: { type: 'thinking' } },
      { content_block: { type: 'text' } },
      { content_block: { type: 'tool_use', id: 'a' } },
      { content_block: { type: 'tool_use', id: 'b' } },
    ]);
  });

  test('a stream ends if it had a finish reason or [DONE], and only then', () => {
    expect(events([{ delta: { content: 'Hi' } }, { finish_reason: 'length' }], []).at(-1)?.[0]).toBe(
      'message_stop',
    );
    expect(events([{ delta: { content: 'Hi' } }], []).at(-1)?.[0]).toBe('content_block_delta');
    expect(events([{ delta: { content: 'Hi' } }]).at(-1)?.[0]).toBe('message_stop');
  });

  test.each(['stop', '', null])('tool calls are the reason of an end that hosts call %j', (finish_reason) => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const ends = events([{ delta: { tool_calls: [call] } }, { finish_reason }]);
    expect(ends.at(-2)?.[1]).toMatchObject({ delta: { stop_reason: 'tool_use' } });
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const body = Buffer.from(
      JSON.stringify(completionBody('m', '', usageOf(1, 1), { message, finish_reason })),
    );
    expect(JSON.parse(translator().answer(body, 200).toString()).stop_reason).toBe('tool_use');
  });

  test('arguments may be an object', () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: { x: 1 } } };
    const deltas = events([{ delta: { tool_calls: [call] } }, { finish_reason: 'tool_calls' }]);
    expect(deltas.map(([, event]) => event)).toContainEqual(
      expect.objectContaining({ delta: { type: 'input_json_delta', partial_json: '{"x":1}' } }),
    );
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    const body = Buffer.from(JSON.stringify(completionBody('m', '', usageOf(1, 1), { message })));
    expect(JSON.parse(translator().answer(body, 200).toString()).content).toMatchObject([
      { input: { x: 1 } },
    ]);
  });

  test('a chunk without an error may say so', () => {
    const chunk = { ...chunkBody('m', { delta: { content: 'Hi' } }), error: null };
    const [[, start] = [], ...rest] = readEvents(translator().events(Buffer.from(eventText(['', chunk]))));
    expect(start).toMatchObject({ type: 'message_start' });
    expect(rest.map(([name]) => name)).toEqual(['content_block_start', 'content_block_delta']);
  });

  test("an error has Anthropic's format", () => {
    const bytes = translator().events(
      Buffer.from(eventText(['', errorBody('Broken', 'server_error', null)])),
    );
    expect(readEvents(bytes)).toEqual([
      ['error', { type: 'error', error: { type: 'api_error', message: 'Broken' } }],
    ]);
  });
});
