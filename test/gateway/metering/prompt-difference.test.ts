import { expect, test } from 'vitest';
import { changedPlace } from '../../../src/gateway/metering/prompt-difference.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';

type Base = Parameters<typeof changedPlace>[3];

const text = (value: string) => ({ type: 'text', text: value });
const BODY = {
  model: 'claude-sonnet-4-5',
  max_tokens: 5,
  system: [text('s0'), text('s1')],
  messages: [
    { role: 'user', content: 'plain' },
    { role: 'assistant', content: [text('a0'), text('a1')] },
    { role: 'user', content: [text('u0'), text('u1'), text('u2')] },
  ],
};

test.each([
  ['"s1"', 'system[1]', 0],
  ['"plain"', 'messages[0].content', 0],
  ['"a1"', 'messages[1].content[1]', 1],
  ['"u0"', 'messages[2].content[0]', 2],
  ['"u2"', 'messages[2].content[2]', 2],
])('a change of %s is at %s', (word, field, messageIndex) => {
  const request = messagesWire.parse(Buffer.from(JSON.stringify(BODY)));
  const prompt = messagesWire.blocksOf?.(request);
  if (!prompt) throw new Error('the prompt could not be split');
  const at = prompt.blocks.findIndex(({ start, end }) => request.bytes.subarray(start, end).includes(word));
  const base = { blocks: [], bytes: undefined } as unknown as Base;
  const found = changedPlace(prompt, request.members, at, base, at);
  expect(found).toMatchObject({ field, offset: null });
  if (field.startsWith('messages')) expect(found?.messageIndex).toBe(messageIndex);
});
