import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { createLeftOut } from '../../src/translation/left-out.ts';
import { hasOpenAiSchema, openAiFaults } from '../support/openai-schema.ts';
import { eventText, readEvents } from '../wire/support/event-scripts.ts';
import {
  anthropicError,
  messageBody,
  messageStream,
  messageUsage,
  text,
  toolUse,
} from '../wire/support/messages-shapes.ts';
import { messagesForChat } from './support/translations.ts';

const OPTIONS = { maxTokens: 4096, outputLimit: 'max_completion_tokens', leaveOut: () => {} } as const;
const USER = { role: 'user', content: 'Hi' };
const translate = ({ model = 'claude-opus-4-6', ...chat }: { model?: string; [field: string]: unknown }) =>
  messagesForChat.request({ model: 'alias', messages: [USER], ...chat }, { ...OPTIONS, model });
const turns = (...messages: object[]) => translate({ messages });

function refusal(chat: Parameters<typeof translate>[0]): { param: string | null; status: number } {
  try {
    translate(chat);
  } catch (error) {
    if (error instanceof GwError) return { param: error.param, status: error.status };
    throw error;
  }
  throw new Error('the request was not refused');
}

describe('messages', () => {
  test('system messages move to the front', () => {
    const { system, messages } = turns({ role: 'system', content: 'One' }, USER, {
      role: 'developer',
      content: [{ ...text('Two'), cache_control: { type: 'ephemeral' } }],
    });
    expect(system).toEqual([text('One'), { ...text('Two'), cache_control: { type: 'ephemeral' } }]);
    expect(messages).toEqual([{ role: 'user', content: [text('Hi')] }]);
  });

  test('parallel tool calls and their results keep their ids; the results form one turn', () => {
    const call = (id: string, args: string) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: args },
    });
    const { messages } = turns(
      USER,
      {
        role: 'assistant',
        content: null,
        refusal: null,
        annotations: [],
        tool_calls: [call('a', '{"x":1}'), call('b', '')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: [text('two')] },
      { role: 'user', content: 'And?' },
    );
    expect(messages).toEqual([
      { role: 'user', content: [text('Hi')] },
      { role: 'assistant', content: [toolUse('a', 'f', { x: 1 }), toolUse('b', 'f', {})] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: 'one' },
          { type: 'tool_result', tool_use_id: 'b', content: 'two' },
          text('And?'),
        ],
      },
    ]);
  });

  test('images by URL, images as data, and documents', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'auto' } });
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,UERG' } };
    const { messages } = turns({
      role: 'user',
      content: [image('https://x.test/a.png'), image('data:image/png;base64,iVBO'), file],
    });
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
          {
            type: 'document',
            title: 'a.pdf',
            source: { type: 'base64', media_type: 'application/pdf', data: 'UERG' },
          },
        ],
      },
    ]);
  });

  test('signed reasoning is sent back', () => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
    const { messages } = turns(USER, {
      role: 'assistant',
      content: 'Yes',
      reasoning_content: 'Hm',
      thinking_blocks: [thinking],
    });
    expect(messages).toContainEqual({ role: 'assistant', content: [thinking, text('Yes')] });
  });
});

describe('fields', () => {
  test.each([
    [{ max_tokens: 5, max_completion_tokens: 7 }, { max_tokens: 7 }],
    [{}, { max_tokens: 4096 }],
    [
      { stop: 'END', temperature: 1, top_p: 0.5, user: 'u1' },
      { stop_sequences: ['END'], temperature: 1, metadata: { user_id: 'u1' } },
    ],
    [{ stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [
      { tool_choice: 'required', parallel_tool_calls: false },
      { tool_choice: { type: 'any', disable_parallel_tool_use: true } },
    ],
    [
      { tool_choice: { type: 'function', function: { name: 'f' } } },
      { tool_choice: { type: 'tool', name: 'f' } },
    ],
    [{ tool_choice: 'none', parallel_tool_calls: false }, { tool_choice: { type: 'none' } }],
    [{ reasoning_effort: 'high' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    [
      { reasoning_effort: 'low', model: 'claude-sonnet-4-5-20250929' },
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
    ],
    [
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', strict: true, schema: { type: 'object' } },
        },
      },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    [{ n: 1, store: false, logit_bias: {}, seed: null, service_tier: 'auto', prompt_cache_key: 'x' }, {}],
    [
      { thinking: { type: 'enabled', budget_tokens: 2000 }, top_k: 5 },
      { thinking: { type: 'enabled', budget_tokens: 2000 }, top_k: 5 },
    ],
  ])('translates %j to %j', (chat, expected) => {
    const { model: _model, messages: _messages, ...rest } = translate(chat);
    expect(rest).toEqual({ max_tokens: 4096, ...expected });
  });

  test.each([
    [
      { seed: 7, logit_bias: { 50256: -100 }, prediction: { type: 'content', content: 'x' } },
      {},
      ['seed', 'logit_bias', 'prediction'],
    ],
    [{ metadata: { run: 'r1' } }, {}, ['metadata']],
    [{ metadata: { user_id: 'u', run: 'r1' } }, { metadata: { user_id: 'u' } }, ['metadata']],
    [{ user: 'a', metadata: { user_id: 'b' } }, { metadata: { user_id: 'a' } }, []],
    [{ user: 'a', safety_identifier: 'b' }, { metadata: { user_id: 'b' } }, []],
    [{ seed: null, logit_bias: {}, metadata: {} }, {}, []],
  ])('translates %j to %j and notes %j', (chat, expected, noted) => {
    const { leaveOut, fields } = createLeftOut();
    const options = { ...OPTIONS, model: 'claude-opus-4-6', leaveOut };
    expect(messagesForChat.request({ model: 'alias', messages: [USER], ...chat }, options)).toEqual({
      model: 'alias',
      max_tokens: 4096,
      messages: [{ role: 'user', content: [text('Hi')] }],
      ...expected,
    });
    expect(fields()).toEqual(noted);
  });

  test('what libraries add to messages for their own use is left out and noted once', () => {
    const own = { provider_specific_fields: { citations: null, thought_signature: 'x' } };
    const call = {
      id: 'a',
      type: 'function',
      function: { name: 'f', arguments: '{}', ...own },
      ...own,
    };
    const { leaveOut, fields } = createLeftOut();
    const { messages } = messagesForChat.request(
      {
        model: 'alias',
        messages: [
          { role: 'system', name: 'boss', content: 'Be brief' },
          { ...USER, name: 'Ann' },
          {
            role: 'assistant',
            name: 'researcher',
            content: 'So',
            tool_calls: [call],
            function_call: null,
            reasoning: 'Hm',
            reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }],
            ...own,
          },
          { role: 'tool', name: 'f', tool_call_id: 'a', content: 'ok' },
        ],
      },
      { ...OPTIONS, model: 'claude-opus-4-6', leaveOut },
    );
    expect(messages).toEqual([
      { role: 'user', content: [text('Hi')] },
      { role: 'assistant', content: [text('So'), toolUse('a', 'f', {})] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] },
    ]);
    expect(fields()).toEqual([
      'messages[].name',
      'messages[].provider_specific_fields',
      'messages[].tool_calls[].provider_specific_fields',
      'messages[].tool_calls[].function.provider_specific_fields',
    ]);
  });

  test('tools keep names, descriptions, schemas and strictness', () => {
    const parameters = { type: 'object', properties: { x: { type: 'number' } } };
    const { tools } = translate({
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters, strict: true } },
        { type: 'function', function: { name: 'g' } },
      ],
    });
    expect(tools).toEqual([
      { name: 'f', description: 'd', input_schema: parameters, strict: true },
      { name: 'g', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  test.each([
    [{ n: 2 }, 'n'],
    [{ temperature: 1.5 }, 'temperature'],
    [{ logprobs: true }, 'logprobs'],
    [{ frequency_penalty: 0.1 }, 'frequency_penalty'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ a_field_of_tomorrow: 1 }, 'a_field_of_tomorrow'],
    [{ tools: [{ type: 'custom', custom: { name: 'f' } }] }, 'tools[0].type'],
    [{ messages: [{ ...USER, audience: 'all' }] }, 'messages[0].audience'],
    [{ messages: [{ role: 'function', content: 'x', name: 'f' }] }, 'messages[0].role'],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
      'messages[0].content[0].type',
    ],
    [
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'https://x.test', detail: 'low' } }],
          },
        ],
      },
      'messages[0].content[0].image_url.detail',
    ],
    [
      {
        messages: [
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }],
          },
        ],
      },
      'messages[0].tool_calls[0].function.arguments',
    ],
    [{ stream_options: { a_new_one: true } }, 'stream_options.a_new_one'],
  ])('refuses %j', (chat, param) => {
    expect(refusal(chat)).toEqual({ param, status: 400 });
  });
});

const translator = (wantsUsage = true) =>
  messagesForChat.answers({ model: 'm', wantsUsage, now: () => 1_700_000_000_000 });
const answer = (body: object, status = 200) =>
  JSON.parse(
    translator()
      .answer(Buffer.from(JSON.stringify(body)), status)
      .toString(),
  );

describe('answers', () => {
  const thinking = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };

  test('text, reasoning and calls, with usage as OpenAI counts it', () => {
    const usage = messageUsage(10, 5, { cache_read_input_tokens: 100, cache_creation_input_tokens: 20 });
    const body = messageBody([thinking, text('Let me '), text('see'), toolUse('a', 'f', { x: 1 })], {
      stop_reason: 'tool_use',
      usage,
    });
    expect(answer(body)).toMatchObject({
      id: 'msg_1',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'claude-sonnet-4-5',
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          message: {
            role: 'assistant',
            content: 'Let me see',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
            reasoning_content: 'Hm',
            thinking_blocks: [thinking],
          },
        },
      ],
      usage: {
        prompt_tokens: 130,
        completion_tokens: 5,
        total_tokens: 135,
        prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 20 },
      },
    });
  });

  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
  ])('translates %s to %s', (stop_reason, finish_reason) => {
    expect(answer(messageBody([text('x')], { stop_reason })).choices[0].finish_reason).toBe(finish_reason);
  });

  test('errors, and HTML pages in place of errors', () => {
    const error = { message: 'Too many', type: 'rate_limit_error', param: null, code: null };
    expect(answer(anthropicError('rate_limit_error', 'Too many'), 429)).toEqual({ error });
    expect(JSON.parse(translator().answer(Buffer.from('<html>'), 502).toString()).error.message).toBe(
      '<html>',
    );
    expect(() => translator().answer(Buffer.from('<html>'), 200)).toThrow('not a JSON object');
  });

  test.skipIf(!hasOpenAiSchema)("they conform to OpenAI's schema", () => {
    expect(openAiFaults('CreateChatCompletionResponse', answer(messageBody([text('x')])))).toEqual([]);
    for (const chunk of chunks(messageStream([text('a b'), toolUse('a', 'f', { x: 1 })]))) {
      expect(openAiFaults('CreateChatCompletionStreamResponse', chunk)).toEqual([]);
    }
  });
});

type Chunk = { choices: { delta: Record<string, unknown>; finish_reason: string | null }[]; usage?: unknown };

/** The translated chunks, which must not depend on how the events are split into buffers. */
function chunks(list: ReturnType<typeof messageStream>, wantsUsage = true): Chunk[] {
  const each = translator(wantsUsage);
  const bytes = Buffer.concat(list.map((event) => each.events(Buffer.from(eventText(event)))));
  const all = translator(wantsUsage).events(Buffer.from(list.map(eventText).join('')));
  expect(all.toString()).toBe(bytes.toString());
  expect(bytes.toString().endsWith('data: [DONE]\n\n')).toBe(true);
  return readEvents(bytes).flatMap(([, data]) => (typeof data === 'string' ? [] : [data as Chunk]));
}

describe('streams', () => {
  test('text arrives word by word between the role and the finish reason', () => {
    const list = chunks(messageStream([text('Hello you')]), false);
    expect(list.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '', refusal: null },
      { content: 'Hello' },
      { content: ' you' },
      {},
    ]);
    expect(list.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(list.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  test('usage is the last chunk if the client requested it', () => {
    const last = chunks(messageStream([text('Hi')], { endUsage: { output_tokens: 9 } })).at(-1);
    expect(last).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 },
    });
  });

  test('parallel calls have an index each; a call without input gets an empty object', () => {
    const content = [text('So'), toolUse('a', 'f', { x: 1 }), toolUse('b', 'g', {})];
    const deltas = chunks(messageStream(content, { stopReason: 'tool_use' })).flatMap(
      ({ choices }) =>
        (choices[0]?.delta.tool_calls as { index: number; function: { arguments: string } }[]) ?? [],
    );
    const argumentsOf = (index: number) =>
      deltas
        .filter((delta) => delta.index === index)
        .map((delta) => delta.function.arguments)
        .join('');
    expect(deltas[0]).toEqual({
      index: 0,
      id: 'a',
      type: 'function',
      function: { name: 'f', arguments: '' },
    });
    expect([argumentsOf(0), argumentsOf(1)]).toEqual(['{"x":1}', '{}']);
  });

  test('reasoning arrives word by word, then as a whole with its signature', () => {
    const deltas = chunks(messageStream([{ type: 'thinking', thinking: 'Let me', signature: 'c2ln' }])).map(
      ({ choices }) => choices[0]?.delta,
    );
    expect(deltas).toContainEqual({ reasoning_content: 'Let' });
    expect(deltas).toContainEqual({
      thinking_blocks: [{ type: 'thinking', thinking: 'Let me', signature: 'c2ln' }],
    });
  });

  test('an error event becomes an error without an end', () => {
    const bytes = translator().events(
      Buffer.from(eventText(['error', anthropicError('overloaded_error', 'Busy')])),
    );
    expect(readEvents(bytes)).toEqual([
      ['', { error: { message: 'Busy', type: 'overloaded_error', param: null, code: null } }],
    ]);
  });
});
