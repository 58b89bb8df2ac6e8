import { expect, test } from 'vitest';
import { createItemMemories } from '../../src/translation/responses-over-chat/item-memory.ts';
import { messagesOfResponses } from '../../src/translation/responses-over-messages.ts';

test('errors of a translation over two APIs name the fields of responses', () => {
  const options = {
    model: 'claude-opus-4-6',
    maxTokens: 1000,
    outputLimit: 'max_tokens',
    memory: createItemMemories()(1),
    isCodex: false,
    leaveOut: () => {},
  } as const;
  const translate = (request: object) =>
    messagesOfResponses({ model: 'm', input: 'Hi', ...request }, options);
  expect(
    translate({ instructions: 'Be brief', max_output_tokens: 50, reasoning: { effort: 'low' } }),
  ).toMatchObject({
    max_tokens: 50,
    system: [{ text: 'Be brief' }],
    output_config: { effort: 'low' },
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  expect(() => translate({ text: { format: { type: 'json_object' } } })).toThrow(
    '"text.format" has no equivalent',
  );
  expect(() =>
    translate({ input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }),
  ).toThrow('"input" has no equivalent');
});
