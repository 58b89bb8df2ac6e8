import { describe, expect, test } from 'vitest';
import { isObject, objectsIn } from '../../src/json/object.ts';
import { DIALECTS } from '../../src/providers/dialects/dialects.ts';
import type { Json } from '../../src/translation/json.ts';
import { chatForMessages, chatForResponses, messagesForChat } from './support/translations.ts';

const USER = { role: 'user', content: 'Hi' };
const dialect = (name: string) => DIALECTS[name] ?? {};
const call = (id: string, name = 'f', input: object = {}) => ({ type: 'tool_use', id, name, input });
const result = (id: string, content: unknown = 'done') => ({ type: 'tool_result', tool_use_id: id, content });
const messages = (...list: object[]) => ({ model: 'm', max_tokens: 9, messages: list });

/** Each call with the content of its result, by the ids of the translated request. */
function pairs({ messages: list }: Json): unknown[] {
  const results = new Map<unknown, unknown>();
  for (const { role, tool_call_id, content } of objectsIn(list))
    if (role === 'tool') results.set(tool_call_id, content);
  return objectsIn(list)
    .flatMap(({ tool_calls }) => objectsIn(tool_calls))
    .map(({ id }) => [id, results.get(id)]);
}

describe('ids of calls', () => {
  const loop = (...ids: string[]) =>
    messages(
      USER,
      ...ids.flatMap((id, i) => [
        { role: 'assistant', content: [call(id)] },
        { role: 'user', content: [result(id, `${i}`)] },
      ]),
    );
  const longest = 'x'.repeat(100);

  test.each([
    ['openai', /^[\w-]{1,40}$/],
    ['mistral', /^[a-zA-Z0-9]{9}$/],
  ])('are what %s takes, at the call and at its result', (name, pattern) => {
    const ids = ['functions.Bash:0', 'toolu_01', longest, 'ü', '123456789'];
    const request = chatForMessages.request(loop(...ids), { dialect: dialect(name) });
    const found = pairs(request) as [string, string][];
    expect(found.map(([, content]) => content)).toEqual(['0', '1', '2', '3', '4']);
    for (const [id] of found) expect(id).toMatch(pattern);
    expect(new Set(found.map(([id]) => id)).size).toBe(ids.length);
    // The same on each turn, or the provider's cache would miss.
    const later = chatForMessages.request(loop(...ids, 'new'), { dialect: dialect(name) });
    expect(objectsIn(later.messages).slice(0, -2)).toEqual(request.messages);
  });

  test('of which a provider used one for several calls are told apart', () => {
    const found = pairs(chatForMessages.request(loop('call_0', 'call_0', 'call_0'))) as [string, string][];
    expect(found.map(([, content]) => content)).toEqual(['0', '1', '2']);
    expect(found[0]?.[0]).toBe('call_0');
    expect(new Set(found.map(([id]) => id)).size).toBe(3);
  });

  test('that a provider gives again reach clients as new ones, with what belongs to them', () => {
    const extra_content = { google: { thought_signature: 's' } };
    const tool_calls = [{ index: 0, id: 'call_0', extra_content, function: { name: 'f', arguments: '{}' } }];
    const chunk = { choices: [{ delta: { tool_calls } }] };
    const stream = chatForMessages.answers({ callIds: ['call_0'], newId: () => 'call_new' });
    const out = String(stream.events(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)));
    expect(out).toContain('"id":"call_new"');
    const [, data = ''] = /"data":"gw1\.([^"]+)"/.exec(out) ?? [];
    expect(Buffer.from(data, 'base64').toString()).toContain('"id":"call_new"');
  });

  test('reach clients in a form that every other provider takes', () => {
    const tool_calls = [
      { id: 'functions.Bash:0', type: 'function', function: { name: 'f', arguments: '{}' } },
    ];
    const body = { choices: [{ message: { content: null, tool_calls } }] };
    const answer = JSON.parse(
      String(chatForMessages.answers().answer(Buffer.from(JSON.stringify(body)), 200)),
    );
    expect(answer.content).toMatchObject([{ type: 'tool_use', id: expect.stringMatching(/^[\w-]+$/) }]);
  });
});

describe('names of tools', () => {
  const long = `mcp__${'server'.repeat(12)}__read.file`;
  const request = {
    ...messages(
      USER,
      { role: 'assistant', content: [call('a', long)] },
      { role: 'user', content: [result('a')] },
    ),
    tools: [
      { name: long, input_schema: { type: 'object' } },
      { name: 'short', input_schema: {} },
    ],
    tool_choice: { type: 'tool', name: long },
  };

  test('are what all APIs take, the same wherever they stand', () => {
    const translated = chatForMessages.request(request);
    const [first, second] = objectsIn(translated.tools).map(({ function: fn }) => fn as Json);
    expect(first?.name).toMatch(/^[\w-]{1,64}$/);
    expect(second?.name).toBe('short');
    expect(translated.tool_choice).toMatchObject({ function: { name: first?.name } });
    expect(JSON.stringify(translated.messages)).toContain(`"name":"${first?.name}"`);
  });

  test("come back as the client's", () => {
    const translated = chatForMessages.request(request);
    const [tool] = objectsIn(translated.tools);
    const name = isObject(tool?.function) ? String(tool.function.name) : '';
    const chunk = {
      choices: [{ delta: { tool_calls: [{ index: 0, id: 'b', function: { name, arguments: '{}' } }] } }],
    };
    const stream = chatForMessages.answers({ names: [[name, long]] });
    expect(String(stream.events(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)))).toContain(
      `"name":"${long}"`,
    );
  });
});

test.each([
  [undefined, { type: 'object', properties: {} }],
  [{}, { type: 'object', properties: {} }],
  [{ type: 'object' }, { type: 'object', properties: {} }],
  [{ properties: { a: { type: 'string' } } }, { type: 'object', properties: { a: { type: 'string' } } }],
])('the schema %j is made an object with properties', (input_schema, parameters) => {
  const { tools } = chatForMessages.request({ ...messages(USER), tools: [{ name: 'f', input_schema }] });
  expect(tools).toMatchObject([{ function: { parameters } }]);
});

test('schemas for Google have no word that it does not know', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    $defs: { point: { type: 'object', properties: { x: { const: 1 } } } },
    properties: {
      at: { $ref: '#/$defs/point', description: 'where' },
      pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] },
      maybe: { type: ['string', 'null'] },
      either: { oneOf: [{ type: 'string' }, { type: 'integer', exclusiveMinimum: 0 }] },
      self: { $ref: '#/$defs/loop' },
    },
    required: ['at'],
  };
  const { tools } = chatForMessages.request(
    { ...messages(USER), tools: [{ name: 'f', input_schema: schema }] },
    { dialect: dialect('google') },
  );
  const [tool] = objectsIn(tools);
  expect(JSON.stringify(tool)).not.toMatch(/\$|additionalProperties|const"|exclusive|oneOf/);
  expect(tool).toMatchObject({
    function: {
      parameters: {
        properties: {
          at: { type: 'object', description: 'where', properties: { x: { enum: ['1'] } } },
          pair: { items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
          maybe: { type: 'string', nullable: true },
        },
        required: ['at'],
      },
    },
  });
});

describe('the order of turns', () => {
  const item = (type: string, fields: object) => ({ type, ...fields });
  const codexCall = item('function_call', { call_id: 'c1', name: 'shell', arguments: '{}' });
  const output = item('function_call_output', { call_id: 'c1', output: 'a' });
  const note = { type: 'message', role: 'developer', content: 'Approved: ls' };
  const roles = ({ messages: list }: Json) => objectsIn(list).map(({ role }) => role);

  test('puts results behind their calls, and what stood between them after', () => {
    const input = [USER, codexCall, note, USER, output];
    const request = chatForResponses.request({ model: 'm', input });
    expect(roles(request)).toEqual(['user', 'assistant', 'tool', 'system', 'user']);
    expect(pairs(request)).toEqual([['c1', 'a']]);
  });

  test('makes up the result of a call that was broken off, and says so', () => {
    const left: string[] = [];
    const request = chatForResponses.request(
      { model: 'm', input: [USER, codexCall, USER] },
      { leaveOut: (param) => left.push(param) },
    );
    expect(roles(request)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(pairs(request)).toEqual([['c1', expect.stringContaining('interrupted')]]);
    expect(left).toEqual(['input[] (no result)']);
  });

  test('keeps a result whose call is gone as text', () => {
    const request = chatForResponses.request({ model: 'm', input: [USER, output, USER] });
    expect(roles(request)).toEqual(['user', 'user', 'user']);
    expect(JSON.stringify(request.messages)).toContain('earlier tool call:\\na');
  });

  test('has parallel calls of several items in one message', () => {
    const second = { ...codexCall, call_id: 'c2' };
    const input = [USER, codexCall, second, { ...output, call_id: 'c2', output: 'b' }, output];
    const request = chatForResponses.request({ model: 'm', input });
    expect(roles(request)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(pairs(request)).toEqual([
      ['c1', 'a'],
      ['c2', 'b'],
    ]);
  });

  test('has no user behind a tool where the provider refuses that', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } };
    const turns = messages(
      USER,
      { role: 'assistant', content: [call('a')] },
      { role: 'user', content: [result('a'), { type: 'text', text: 'A reminder' }, image] },
      { role: 'system', content: 'Another' },
    );
    const request = chatForMessages.request(turns, { dialect: dialect('mistral') });
    expect(roles(request)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(objectsIn(request.messages)[2]?.content).toContain('A reminder');
  });
});

describe('towards Anthropic', () => {
  const chat = (fields: object, content: unknown = 'Hi') =>
    messagesForChat.request(
      { model: 'm', messages: [{ role: 'user', content }], ...fields },
      { model: 'claude-sonnet-4-5', maxOutputTokens: 64_000 },
    );
  const png = { type: 'image_url', image_url: { url: 'data:image/jpg;base64,iVBORw0KGgo=' } };

  test('empty text, image/jpg, and stops of white space are left out or corrected', () => {
    const request = chat({ max_tokens: 50, stop: ['\n', 'END'] }, [{ type: 'text', text: '' }, png]);
    expect(request.stop_sequences).toEqual(['END']);
    expect(request.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'iVBORw0KGgo=' } },
        ],
      },
    ]);
    expect(chat({ stop: ['\n'] })).not.toHaveProperty('stop_sequences');
  });

  test.each([
    [
      'a limit below the budget',
      { max_tokens: 4096 },
      { thinking: { type: 'enabled', budget_tokens: 4095 } },
    ],
    ['a limit below the least budget', { max_tokens: 500 }, {}],
    ['a temperature', { max_tokens: 32_000, temperature: 0.2 }, { temperature: 0.2 }],
    [
      'a forced tool',
      { max_tokens: 32_000, tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' },
      { tool_choice: { type: 'any' } },
    ],
    ['nothing of the kind', { max_tokens: 32_000 }, { thinking: { budget_tokens: 16_384 } }],
  ])('an effort with %s', (name, fields, expected) => {
    const request = chat({ reasoning_effort: 'high', ...fields });
    expect(request).toMatchObject(expected);
    if (!('thinking' in expected)) expect(request, name).not.toHaveProperty('thinking');
  });

  test('an effort in the middle of a loop whose reasoning is lost is left out', () => {
    const tool_calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const request = messagesForChat.request(
      {
        model: 'm',
        reasoning_effort: 'high',
        messages: [
          USER,
          { role: 'assistant', tool_calls },
          { role: 'tool', tool_call_id: 'a', content: 'x' },
        ],
      },
      { model: 'claude-sonnet-4-5' },
    );
    expect(request).not.toHaveProperty('thinking');
  });
});

test('limits are lowered to those of the model and the API', () => {
  const request = chatForMessages.request(
    { ...messages(USER), max_tokens: 100_000, stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
    { maxOutputTokens: 8_192 },
  );
  expect(request).toMatchObject({ max_tokens: 8_192, stop: ['a', 'b', 'c', 'd'] });
});
