import { expect, test } from 'vitest';
import { promptText } from '../../src/tiering/prompt.ts';

test('promptText() takes the last user turn', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'answer' },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: null },
  ];
  expect(promptText(messages)).toBe('second');
});

test('promptText() joins text parts and passes over images', () => {
  const content = [
    { type: 'text', text: 'what is' },
    { type: 'image_url', image_url: { url: 'data:...' } },
    { type: 'text', text: 'this?' },
  ];
  expect(promptText([{ role: 'user', content }])).toBe('what is\nthis?');
});

test('promptText() is empty where there is no user turn or no text', () => {
  expect(promptText([])).toBe('');
  expect(promptText([{ role: 'user', content: 7 }])).toBe('');
});
