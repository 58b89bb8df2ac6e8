import { expect, test } from 'vitest';
import { objectsIn } from '../../src/json/object.ts';
import type { Json } from '../../src/translation/json.ts';
import { chunkBody, usageOf } from '../support/chat-shapes.ts';
import { startGateway } from '../support/gateway.ts';
import { sse } from '../support/sse-scripts.ts';

const USER = { role: 'user', content: 'Hi' };
const CALLS = [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'abcdefgh1', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'abcdefgh1', content: 'x' },
];
const schema = {
  type: 'object',
  properties: { a: { type: 'string', const: 'b' } },
  additionalProperties: false,
};
const toolOf = (fields: object) => [{ type: 'function', function: { name: 'f', ...fields } }];
/** Its usage comes unasked. */
const streamed = sse(['OK', { ...chunkBody('m', undefined), usage: usageOf(10, 2) }]);

/** Sends a chat completion to a provider with that API. */
async function through(name: string, fields: object) {
  const gateway = await startGateway({
    settings: { providers: {} },
    credentials: { [name]: 'provider-key' },
  });
  gateway.configure({ providers: { [name]: { baseUrl: gateway.upstream.url } } });
  gateway.upstream.script(streamed);
  const bytes = JSON.stringify({ model: `${name}/m`, stream: true, messages: [USER], ...fields });
  const answer = await gateway.post(JSON.parse(bytes));
  expect(answer.status).toBe(200);
  const [record] = await gateway.settled(1);
  const sent = String(gateway.upstream.requests.at(-1)?.body);
  return { sent: JSON.parse(sent) as Json, text: sent, answer: await answer.text(), record, bytes };
}

/** Whether the provider's law is kept in what it got. */
const LAWS: [string, string, object, (sent: Json) => boolean][] = [
  [
    'a field it refuses',
    'mistral',
    { stream_options: { include_usage: true } },
    (sent) => !('stream_options' in sent),
  ],
  [
    'a user behind a tool',
    'mistral',
    { messages: [USER, ...CALLS, USER] },
    ({ messages }) => objectsIn(messages).at(-1)?.role === 'tool',
  ],
  [
    'a schema beyond its words',
    'google',
    { tools: toolOf({ parameters: schema }) },
    ({ tools }) => !/const|additional/.test(JSON.stringify(tools)),
  ],
  [
    'a strict tool',
    'groq',
    { tools: toolOf({ parameters: schema, strict: true }) },
    ({ tools }) => !/strict/.test(JSON.stringify(tools)),
  ],
  [
    'reasoning that came back',
    'groq',
    { messages: [USER, { role: 'assistant', content: 'a', reasoning_content: 'r' }, USER] },
    ({ messages }) => !/reasoning/.test(JSON.stringify(messages)),
  ],
  [
    'two system messages',
    'vllm',
    { messages: [{ role: 'system', content: 'a' }, { role: 'system', content: 'b' }, USER] },
    ({ messages }) =>
      objectsIn(messages)
        .map(({ role }) => role)
        .join() === 'system,user',
  ],
  [
    'a forced tool',
    'zai',
    { tools: toolOf({ parameters: { type: 'object', properties: {} } }), tool_choice: 'required' },
    (sent) => !('tool_choice' in sent),
  ],
  ['two stops', 'zai', { stop: ['a', 'b'] }, ({ stop }) => Array.isArray(stop) && stop.length === 1],
];

test.each(LAWS)('a client of its own API sends %s: it is mended', async (_, name, fields, isKept) => {
  const { sent, answer, record } = await through(name, fields);
  expect({ sent, isKept: isKept(sent) }).toMatchObject({ isKept: true });
  expect(answer).toContain('"content":"OK"');
  expect(record?.flags).not.toContain('estimated');
});

test.each(LAWS)('%s goes as it is to a provider that takes it', async (_, _name, fields) => {
  const { text, bytes } = await through('together', fields);
  const withoutOurs = (body: string) => {
    const { model: _model, stream_options: _usage, ...rest } = JSON.parse(body) as Json;
    return JSON.stringify(rest);
  };
  expect(withoutOurs(text)).toBe(withoutOurs(bytes));
});

test('a client that asked for the usage of its stream gets it where the provider refuses the question', async () => {
  const asked = await through('mistral', { stream_options: { include_usage: true } });
  expect(asked.answer).toContain('"total_tokens"');
  expect(asked.record?.detail).toMatchObject({ left_out: ['stream_options'] });
  const unasked = await through('mistral', {});
  expect(unasked.answer).not.toContain('"total_tokens"');
});

test('what gw has no words for goes as it is, for the provider to judge', async () => {
  const messages = [
    { role: 'system', content: 'a' },
    { role: 'system', content: 'b' },
    { role: 'new', content: 'c' },
  ];
  const { sent } = await through('vllm', { messages });
  expect(sent.messages).toEqual(messages);
});
