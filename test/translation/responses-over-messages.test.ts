import { expect, test } from 'vitest';
import { messagesForResponses } from './support/translations.ts';

test('errors of a translation over two APIs name the fields of responses', () => {
  const options = {
    model: 'claude-opus-4-6',
    maxTokens: 1000,
    outputLimit: 'max_tokens',
    isCodex: false,
    leaveOut: () => {},
  } as const;
  const translate = (request: object) =>
    messagesForResponses.request({ model: 'm', input: 'Hi', ...request }, options);
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
  ).toThrow('"input[0].content[0].type" has no equivalent');
});
