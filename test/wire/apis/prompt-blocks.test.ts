import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRecentTexts } from '../../../src/json/recent-texts.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../../src/wire/apis/responses.ts';
import type { PromptBlocks } from '../../../src/wire/request/prompt-block.ts';
import type { WireRequest } from '../../../src/wire/request/wire-request.ts';
import type { Wire } from '../../../src/wire/wire.ts';

const split = (wire: Wire, body: object) =>
  wire.blocksOf?.(wire.parse(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 5, ...body }))));
const kindsOf = (wire: Wire, body: object) =>
  split(wire, body)?.blocks.map(({ kind, role }) => `${kind} ${role}`);
const idsOf = (wire: Wire, body: object) => split(wire, body)?.blocks.map(({ id }) => id);

const MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const text = (value: string) => ({ type: 'text', text: value });

describe("blocks of Anthropic's messages", () => {
  test('are options, tools, system blocks and the blocks of messages, in this order', () => {
    const body = {
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm', signature: 's' },
            { type: 'tool_use', id: 'a', name: 'T', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'a',
              content: [{ type: 'tool_reference', tool_name: 'Far' }],
            },
            { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
          ],
        },
      ],
      system: [text('x-anthropic-billing-header: cch=1;'), text('You are an agent.')],
      tools: [
        { name: 'T', input_schema: {} },
        { name: 'Far', input_schema: {}, defer_loading: true },
      ],
      thinking: { type: 'adaptive' },
    };
    expect(kindsOf(messagesWire, body)).toEqual([
      'option option',
      'tool tool',
      'deferred tool',
      'notice system',
      'system system',
      'user user',
      'reasoning assistant',
      'assistant assistant',
      'result user',
      'image user',
    ]);
    const blocks = split(messagesWire, body)?.blocks ?? [];
    expect(blocks.find(({ kind }) => kind === 'result')?.references).toEqual(['Far']);
    expect(blocks.filter(({ opensMessage }) => opensMessage).map(({ kind }) => kind)).toEqual([
      'user',
      'reasoning',
      'result',
    ]);
    expect(blocks.at(-1)).toMatchObject({ images: 1, addressed: 1 });
  });

  test('are the same with and without cache marks, and as a text or a block of text', () => {
    const plain = { ...user(text('Hi')), system: 'Be kind.' };
    expect(
      idsOf(messagesWire, {
        ...user({ ...text('Hi'), ...MARK }),
        system: [{ ...text('Be kind.'), ...MARK }],
      }),
    ).toEqual(idsOf(messagesWire, plain));
    expect(idsOf(messagesWire, { messages: [{ role: 'user', content: 'Hi' }], system: 'Be kind.' })).toEqual(
      idsOf(messagesWire, plain),
    );
    const result = (mark: object) =>
      user({ type: 'tool_result', ...mark, tool_use_id: 'a', content: [{ ...text('done'), ...mark }] });
    expect(idsOf(messagesWire, result(MARK))).toEqual(idsOf(messagesWire, result({})));
  });

  test('differ where cache_control is content', () => {
    const call = (input: object) => ({
      messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'T', input }] }],
    });
    expect(idsOf(messagesWire, call({ a: 1, ...MARK }))).not.toEqual(idsOf(messagesWire, call({ a: 1 })));
    const tool = (schema: object) => ({ ...user(text('Hi')), tools: [{ name: 'T', input_schema: schema }] });
    expect(idsOf(messagesWire, tool(MARK))).not.toEqual(idsOf(messagesWire, tool({})));
  });

  test('are the same when the content stands before the role', () => {
    const messages = [{ content: [text('Hi'), text('there')], role: 'user' }];
    expect(idsOf(messagesWire, { messages })).toEqual(idsOf(messagesWire, user(text('Hi'), text('there'))));
  });

  test('differ by role, and by where a message begins', () => {
    const [first] = idsOf(messagesWire, { messages: [{ role: 'assistant', content: 'Hi' }] }) ?? [];
    const [second] = idsOf(messagesWire, { messages: [{ role: 'user', content: 'Hi' }] }) ?? [];
    expect(first).not.toBe(second);
    expect(new Set(idsOf(messagesWire, user(text('Hi'), text('Hi')))).size).toBe(2);
  });

  test("are compared for Claude Code's edits that keep all, with its safeguards as a notice", () => {
    const safeguards = [{ type: 'dangerous_tool_use', classifier_context: { v: 1, live_cwd: '/tmp' } }];
    const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }];
    const body = { ...user(text('Hi')), safeguards, context_management: { edits } };
    expect(kindsOf(messagesWire, body)).toEqual(['option option', 'notice system', 'user user']);
  });

  test('have the reminders of Claude Code between the turns', () => {
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: [{ ...text('The date is'), ...MARK }] },
      { role: 'system', content: 'Be kind.' },
    ];
    expect(kindsOf(messagesWire, { messages })).toEqual(['user user', 'system system', 'system system']);
  });

  test('keep a notice only as the first system block', () => {
    const notice = text('x-anthropic-billing-header: cch=1;');
    expect(kindsOf(messagesWire, { ...user(text('Hi')), system: [text('a'), notice] })?.slice(0, 2)).toEqual([
      'system system',
      'system system',
    ]);
  });

  test.each<[string, object]>([
    ['a document', user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } })],
    ['a block of an unknown type', user({ type: 'memory', id: 'm' })],
    ['a block without a type', user({ text: 'Hi' })],
    ['a result of a server tool', user({ type: 'web_search_tool_result', tool_use_id: 'a', content: [] })],
    ['a search result', user({ type: 'search_result', source: 'a', title: 'b', content: [text('c')] })],
    ['a server tool', { ...user(text('Hi')), tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    [
      "Anthropic's search for tools",
      { ...user(text('Hi')), tools: [{ type: 'tool_search_tool_regex_20251119', name: 's' }] },
    ],
    ['MCP servers', { ...user(text('Hi')), mcp_servers: [{ url: 'https://a.example' }] }],
    [
      'context editing',
      { ...user(text('Hi')), context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    ],
    [
      'editing that clears some reasoning',
      { ...user(text('Hi')), context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
    ],
    ['an unknown role', { messages: [{ role: 'tool', content: 'a' }] }],
  ])('are none with %s', (_what, body) => {
    expect(split(messagesWire, body)).toBeUndefined();
  });

  test('are none with a member that stands twice', () => {
    const body =
      '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","type":"image","text":"a"}]}]}';
    expect(messagesWire.blocksOf?.(messagesWire.parse(Buffer.from(body)))).toBeUndefined();
  });

  test('tell whether the reasoning is kept', () => {
    const thought = { type: 'thinking', thinking: 'Hm', signature: 's' };
    const call = { type: 'tool_use', id: 'a', name: 'T', input: {} };
    const loop = (first: object[], thinking?: object) => ({
      ...(thinking ? { thinking } : {}),
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [thought, text('Hello')] },
        { role: 'user', content: 'Go on' },
        { role: 'assistant', content: first },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'done' }] },
      ],
    });
    const keeps = (body: object) => split(messagesWire, body)?.keepsReasoning;
    expect(keeps(loop([thought, call], { type: 'adaptive' }))).toBe(true);
    expect(keeps(loop([call], { type: 'adaptive' }))).toBe(false);
    expect(keeps(loop([thought, call]))).toBe(false);
    expect(keeps(loop([thought, call], { type: 'disabled' }))).toBe(false);
  });
});

describe('the key', () => {
  const keyOf = (fields: object) => split(messagesWire, { ...user(text('Hi')), ...fields })?.key;

  test('is the same whatever the fields are that no model reads', () => {
    const inert = {
      temperature: 1,
      metadata: { user_id: 'a' },
      stream: true,
      max_tokens: 99,
      service_tier: 'auto',
    };
    expect(keyOf(inert)).toBe(keyOf({}));
  });

  test('differs with any field that gw doesn’t know', () => {
    expect(keyOf({ chat_template_kwargs: { a: 1 } })).not.toBe(keyOf({}));
    expect(keyOf({ chat_template_kwargs: { a: 1 } })).not.toBe(keyOf({ chat_template_kwargs: { a: 2 } }));
  });
});

describe('blocks of chat completions', () => {
  const chat = (...messages: object[]) => ({ messages });

  test('are messages, with their parts and their reasoning apart', () => {
    const body = {
      ...chat(
        { role: 'system', content: 'Be kind.' },
        {
          role: 'user',
          content: [text('Hi'), { type: 'image_url', image_url: { url: 'data:image/png;base64,aa' } }],
        },
        { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [{ id: 'a' }] },
        { role: 'tool', tool_call_id: 'a', content: 'done' },
      ),
      tools: [{ type: 'function', function: { name: 'T' } }],
    };
    expect(kindsOf(chatWire, body)).toEqual([
      'tool tool',
      'system system',
      'user user',
      'user user',
      'image user',
      'assistant assistant',
      'reasoning assistant',
      'result result',
    ]);
    expect(split(chatWire, body)?.blocks[4]).toMatchObject({ images: 1, addressed: 0 });
  });

  test.each<[string, object]>([
    ['audio', chat({ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'a' } }] })],
    ['a file', chat({ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] })],
    ['an unknown role', chat({ role: 'critic', content: 'a' })],
    ['a search', { ...chat({ role: 'user', content: 'a' }), web_search_options: {} }],
    ['other models', { ...chat({ role: 'user', content: 'a' }), models: ['a', 'b'] }],
  ])('are none with %s', (_what, body) => {
    expect(split(chatWire, body)).toBeUndefined();
  });
});

describe('blocks of responses', () => {
  const input = (...items: object[]) => ({ max_tokens: undefined, input: items });

  test('are instructions and items', () => {
    const body = {
      ...input(
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'reasoning', summary: [], encrypted_content: 'abc' },
        { type: 'function_call', call_id: 'a', name: 'T', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'done' },
        { role: 'assistant', content: 'Done.' },
      ),
      instructions: 'Be kind.',
      reasoning: { effort: 'low' },
    };
    expect(kindsOf(responsesWire, body)).toEqual([
      'option option',
      'system system',
      'user user',
      'reasoning assistant',
      'assistant assistant',
      'result result',
      'assistant assistant',
    ]);
  });

  test('are those of the request alone where it continues a response', () => {
    const prompt = split(responsesWire, { max_tokens: undefined, input: 'a', previous_response_id: 'r' });
    expect(prompt).toMatchObject({ previous: 'r', blocks: [{ kind: 'user' }] });
    const none = split(responsesWire, { max_tokens: undefined, input: 'a', previous_response_id: null });
    expect(none?.previous).toBeUndefined();
  });

  test.each<[string, object]>([
    ['an earlier response that is no id', { input: 'a', previous_response_id: 7 }],
    [
      'an earlier response and a file',
      { ...input({ role: 'user', content: [{ type: 'input_file' }] }), previous_response_id: 'r' },
    ],
    ['a conversation', { input: 'a', conversation: 'c' }],
    ['a stored prompt', { input: 'a', prompt: { id: 'p' } }],
    ['truncation', { input: 'a', truncation: 'auto' }],
    ['a reference to an item', input({ type: 'item_reference', id: 'i' })],
    ['reasoning that the provider stores', input({ type: 'reasoning', id: 'rs_1', summary: [] })],
    ['a file', input({ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] })],
    ['a hosted tool', { input: 'a', tools: [{ type: 'file_search', vector_store_ids: ['v'] }] }],
    ['a search beside one', { input: 'a', tools: [{ type: 'web_search' }, { type: 'image_generation' }] }],
    [
      'tools that are loaded later',
      { input: 'a', tools: [{ type: 'function', name: 'T', defer_loading: true }] },
    ],
    ['an item of an unknown type', input({ type: 'compaction', encrypted_content: 'abc' })],
  ])('are none with %s', (_what, body) => {
    expect(split(responsesWire, { max_tokens: undefined, ...body })).toBeUndefined();
  });

  test('are none for a compaction', () => {
    expect(split(compactWire, { max_tokens: undefined, input: 'a' })).toBeUndefined();
  });
});

describe('the blocks of a prompt whose beginning was split before', () => {
  const content = fc.stringMatching(/^[ab"\\]{0,6}$/);
  const message = fc.record({
    role: fc.constantFrom('user', 'assistant'),
    content: fc.oneof(
      content,
      fc.array(
        content.map((value) => text(value)),
        { maxLength: 3 },
      ),
    ),
  });
  type Message = { role: string; content: string | object[] };
  const FILL = { system: 'x'.repeat(16 * 1024) };
  const APIS: [string, Wire, (messages: Message[]) => object][] = [
    ['messages', messagesWire, (messages) => ({ ...FILL, messages })],
    ['chat', chatWire, (messages) => ({ user: FILL.system, messages })],
    [
      'responses',
      responsesWire,
      (messages) => ({
        instructions: FILL.system,
        input: messages.map(({ role, content: value }) =>
          typeof value === 'string'
            ? { role, content: value }
            : { role, content: value.map((part) => ({ ...part, type: 'input_text' })) },
        ),
      }),
    ],
  ];

  const TOOLS: Record<string, (name: string) => object> = {
    messages: (name) => ({ name, description: 'reads', input_schema: { type: 'object' } }),
    chat: (name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }),
    responses: (name) => ({ type: 'function', name, parameters: { type: 'object' } }),
  };
  /** Names of tools, and whether they stand before the messages. */
  const tools = fc.tuple(fc.array(fc.constantFrom('A', 'B', 'Cc'), { maxLength: 2 }), fc.boolean());

  test.each(APIS)('of %s are those of the whole prompt, wherever the two part', (api, wire, bodyOf) => {
    let taken = 0;
    const parse = (messages: Message[], [names, isFirst]: [string[], boolean], indent: number) => {
      const list = { tools: names.map((name) => TOOLS[api]?.(name)) };
      const body = { model: 'm', max_tokens: 5, ...(isFirst ? list : {}), ...bodyOf(messages), ...list };
      return wire.parse(Buffer.from(JSON.stringify(body, null, indent)));
    };
    const any = fc.array(message, { maxLength: 6 });
    const some = fc.array(message, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        any,
        some,
        some,
        tools,
        tools,
        fc.constantFrom(0, 1),
        (...[common, before, after, mine, next, indent]) => {
          const recent = createRecentTexts<PromptBlocks>();
          const first = wire.blocksOf?.(parse([...common, ...before], mine, indent));
          if (!first) throw new Error('it was not split');
          recent.keep(first, undefined);
          const request = parse([...common, ...after], next, indent);
          const earlier = recent.find(request.bytes);
          const whole = wire.blocksOf?.(request);
          const second = wire.blocksOf?.(request, earlier);
          expect({ ...second, bytes: 0 }).toEqual({ ...whole, bytes: 0 });
          taken += second?.blocks.filter((block) => first.blocks.includes(block)).length ?? 0;
        },
      ),
      { numRuns: 300, seed: 5 },
    );
    expect(taken).toBeGreaterThan(250);
  });
});

test.each([
  [
    'tools',
    {
      tools: [{ type: 'function', function: { name: 'T', parameters: {} } }],
      messages: [{ role: 'user', content: 'Hi' }],
    },
  ],
  ['messages', { messages: [{ role: 'tool', tool_call_id: 'c', content: 'Hi' }] }],
])('%s that another API has read before are not taken from it', (_, fields) => {
  const body = Buffer.from(
    JSON.stringify({ model: 'm', max_tokens: 5, user: 'x'.repeat(20_000), ...fields }),
  );
  const first = chatWire.blocksOf?.(chatWire.parse(body));
  if (!first) throw new Error('it was not split');
  const recent = createRecentTexts<PromptBlocks>();
  recent.keep(first, undefined);
  const earlier = recent.find(body);
  expect(earlier).toBeDefined();
  expect(messagesWire.blocksOf?.(messagesWire.parse(body))).toBeUndefined();
  expect(messagesWire.blocksOf?.(messagesWire.parse(body), earlier)).toBeUndefined();
});

test('tools behind the messages are taken from the prompt before if they are the same', () => {
  const requestOf = (messages: string[], tool: string) => {
    const body = {
      ...{ model: 'm', max_tokens: 5, system: 'x'.repeat(20_000) },
      messages: messages.map((content) => ({ role: 'user', content })),
      tools: [{ name: tool, input_schema: { type: 'object' } }],
    };
    return messagesWire.parse(Buffer.from(JSON.stringify(body)));
  };
  const first = messagesWire.blocksOf?.(requestOf(['Hi'], 'A'));
  if (!first) throw new Error('it was not split');
  const blocks = first.blocks.map((block) => ({ ...block, images: 7 }));
  const recent = createRecentTexts<PromptBlocks>();
  recent.keep({ ...first, blocks }, undefined);
  const toolOf = (request: WireRequest) => {
    const prompt = messagesWire.blocksOf?.(request, recent.find(request.bytes));
    const tool = prompt?.blocks.find(({ kind }) => kind === 'tool');
    return { ...tool, text: request.bytes.toString('utf8', tool?.start, tool?.end) };
  };
  const text = (name: string) => `{"name":"${name}","input_schema":{"type":"object"}}`;
  expect(toolOf(requestOf(['Hi', 'there'], 'A'))).toMatchObject({ images: 7, text: text('A') });
  expect(toolOf(requestOf(['Hi', 'there'], 'B'))).toMatchObject({ images: 0, text: text('B') });
});

test.each([
  ['Hi', 'Hi there'],
  [{ content: 'Hi' }, { content: 'Hi', name: 'Ann' }],
  [
    { content: 'Hi', name: 'Ann' },
    { content: 'Hi', name: 'Anna' },
  ],
  [{ content: [text('Hi')] }, { content: [text('Hi'), text('there')] }],
])('a message that ends elsewhere is another one: %j, then %j', (before, after) => {
  const requestOf = (message: string | object) => {
    const asked = typeof message === 'string' ? { content: message } : message;
    const messages = [{ role: 'user', ...asked }];
    return chatWire.parse(Buffer.from(JSON.stringify({ user: 'x'.repeat(20_000), model: 'm', messages })));
  };
  const prompt = chatWire.blocksOf?.(requestOf(before));
  const request = requestOf(after);
  if (!prompt) throw new Error('it was not split');
  const recent = createRecentTexts<PromptBlocks>();
  recent.keep(prompt, undefined);
  const earlier = recent.find(request.bytes);
  expect(earlier).toBeDefined();
  expect(chatWire.blocksOf?.(request, earlier)?.blocks).toEqual(chatWire.blocksOf?.(request)?.blocks);
});

test('a text that is kept is found by one that was looked for before', () => {
  const textOf = (end: string) => ({ bytes: Buffer.from('x'.repeat(20_000) + end) });
  const [first, next, asked] = [textOf('a'), textOf('abc'), textOf('abcd')];
  const recent = createRecentTexts<{ bytes: Buffer }>();
  recent.keep(first, undefined);
  expect(recent.find(asked.bytes)).toEqual({ entry: first, shared: 20_001 });
  recent.keep(next, undefined);
  expect(recent.find(asked.bytes)).toEqual({ entry: next, shared: 20_003 });
  expect(recent.find(asked.bytes, { entry: first, shared: 20_001 })).toEqual({
    entry: first,
    shared: 20_001,
  });
  const other = { entry: textOf('a'), shared: 20_001 };
  expect(recent.find(asked.bytes, other)).toEqual({ entry: next, shared: 20_003 });
});

test('recent prompts are found by what they share most with, and the oldest are forgotten', () => {
  const promptOf = (name: string, length: number) => {
    const body = { system: name.repeat(20_000), messages: [{ role: 'user', content: 'm'.repeat(length) }] };
    const prompt = split(messagesWire, body);
    if (!prompt) throw new Error('it was not split');
    return prompt;
  };
  const recent = createRecentTexts<PromptBlocks>();
  const a = promptOf('a', 10);
  const b = promptOf('b', 10);
  for (const prompt of [a, b]) recent.keep(prompt, undefined);
  const longer = promptOf('a', 50_000);
  const found = recent.find(longer.bytes);
  expect(found?.entry).toBe(a);
  expect(longer.bytes.subarray(0, found?.shared).equals(a.bytes.subarray(0, found?.shared))).toBe(true);
  expect(longer.bytes[found?.shared ?? 0]).not.toBe(a.bytes[found?.shared ?? 0]);
  expect(recent.find(Buffer.alloc(100_000))).toBeUndefined();
  recent.keep(longer, found);
  // The turn takes the place of the one before.
  expect(recent.find(a.bytes)?.entry).toBe(longer);
  for (let i = 0; i < 5; i++) recent.keep(promptOf(`${i}`, 1_900_000), undefined);
  expect(recent.find(b.bytes)).toBeUndefined();
});
