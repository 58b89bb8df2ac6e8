import { expect, test } from 'vitest';
import { parseChatRequest } from '../../../src/providers/sandbox/request.ts';
import { countPrompt, countText, firstTokens } from '../../../src/providers/sandbox/tokens.ts';

const prompt = (body: object) =>
  countPrompt(parseChatRequest(Buffer.from(JSON.stringify({ model: 'sandbox/echo', ...body }))));

const jsonTokens = (value: object) => Math.ceil(JSON.stringify(value).length / 4);

test('four bytes are a token, rounded up', () => {
  expect(['', 'a', 'four', 'fives', 'é'.repeat(3)].map(countText)).toEqual([0, 1, 1, 2, 2]);
});

test('a prompt is 4 tokens and the text of each message, and the JSON of the rest', () => {
  const user = { role: 'user', content: '12345678' };
  expect(prompt({ messages: [user] })).toBe(4 + 2);
  expect(prompt({ messages: [user, { role: 'assistant', content: null }] })).toBe(4 + 2 + 4);
  const image = { type: 'image_url', image_url: { url: 'data:' } };
  const content = [{ type: 'text', text: '12345' }, image];
  expect(prompt({ messages: [{ role: 'user', content }] })).toBe(4 + 2 + jsonTokens(image));
  const tools = [{ type: 'function', function: { name: 'f' } }];
  expect(prompt({ messages: [user], tools })).toBe(4 + 2 + jsonTokens(tools));
});

test('firstTokens() never splits a character and never exceeds its limit', () => {
  const text = 'aé漢👋🏽'.repeat(5);
  for (let tokens = 1; tokens <= countText(text) + 1; tokens++) {
    const first = firstTokens(text, tokens);
    expect(text.startsWith(first)).toBe(true);
    expect(countText(first)).toBe(Math.min(tokens, countText(text)));
  }
});
