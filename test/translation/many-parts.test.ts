import { expect, test } from 'vitest';
import { NO_DIALECT } from '../../src/providers/dialects/dialects.ts';
import type { Api } from '../../src/translation/context.ts';
import { translateBody } from '../../src/translation/translate.ts';

/** More than a function has room for as arguments, and enough for work that grows with the square to time out. */
const MANY = 150_000;
const text = { type: 'text', text: 'a' };
const output = { type: 'output_text', text: 'a' };
const calls = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] };

function translated(from: Api, to: Api, fields: object): Record<string, { content: unknown }[]> {
  const options = {
    provider: 'p',
    model: 'm',
    maxTokens: 9,
    outputLimit: 'max_tokens',
    dialect: NO_DIALECT,
    isCodex: false,
  } as const;
  const body = Buffer.from(JSON.stringify({ model: 'm', ...fields }));
  const { bytes } = translateBody(body, { from, to }, options, { recall: () => undefined });
  return JSON.parse(bytes.toString('utf8'));
}

test('turns of one role with many parts become one', () => {
  const many = { role: 'user', content: Array(MANY).fill(text) };
  const { messages, system } = translated('messages', 'messages', {
    system: Array(MANY).fill(text),
    messages: [many, many],
  });
  expect(system).toHaveLength(MANY);
  expect(messages?.map(({ content }) => (content as []).length)).toEqual([2 * MANY]);
});

test('what stands beside a result may have many parts', () => {
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] };
  const { messages } = translated('messages', 'chat/completions', {
    messages: [calls, result, { role: 'user', content: Array(MANY).fill(text) }],
  });
  expect(messages?.at(-1)?.content).toHaveLength(MANY);
});

test('many texts of an answer become one', () => {
  const many = { role: 'assistant', content: Array(MANY).fill(output) };
  const { messages } = translated('responses', 'messages', {
    input: [{ role: 'user', content: 'a' }, { type: 'reasoning', encrypted_content: 'gw1.' }, many],
  });
  expect(messages?.[1]?.content).toHaveLength(MANY);
});

test('many calls with one id get as many', () => {
  const { messages } = translated('messages', 'messages', { messages: Array(MANY).fill(calls) });
  const given = (messages?.[0]?.content ?? []) as { id: string }[];
  const ids = given.map(({ id }) => id);
  expect(new Set(ids).size).toBe(MANY);
  expect(messages?.[1]?.content).toHaveLength(MANY);
});
