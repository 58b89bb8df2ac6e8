import { describe, expect, it } from 'vitest';
import { choicesText, inspectChoices } from '../../../src/wire/answer/choices.ts';

const chunk = (choices: string) =>
  `data: {"id":"c","object":"chat.completion.chunk","choices":${choices}}\n\n`;
const delta = (json: string) => chunk(`[{"index":0,"delta":${json},"logprobs":null,"finish_reason":null}]`);
const textOf = (...events: string[]) => choicesText(Buffer.from(events.join('')), true);

describe('the text of a stream of choices', () => {
  it('is that of its pieces of content', () => {
    expect(textOf(delta('{"content":"Bon"}'), delta('{"content":"jour, ça va?"}'))).toEqual([
      'Bonjour, ça va?',
    ]);
  });

  it.each([
    ['escapes', delta('{"content":"a \\"b\\"\\n"}'), 'a "b"\n'],
    ['an end that looks like one of a chunk', delta('{"content":"{\\"a\\":\\"b\\"}"}'), '{"a":"b"}'],
    ['a refusal beside it', delta('{"content":"a","refusal":"b"}'), 'ab'],
    ['a tool call behind it', delta('{"content":"","tool_calls":[{"function":{"arguments":"{}"}}]}'), '{}'],
    [
      'another choice',
      chunk('[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]'),
      'ab',
    ],
    ['the text of a completion', chunk('[{"index":0,"text":"a"}]'), 'a'],
    ['no content', delta('{}'), ''],
    ['a chunk that is cut', 'data: {"choices":[{"index":0,"delta":{"content":"a"},"fin', ''],
  ])('counts %s', (_, events, text) => {
    expect(textOf(delta('{"content":"<"}'), events)).toEqual([`<${text}`]);
  });
});

describe('the marks in a stream of choices', () => {
  const usage = (json: string) =>
    inspectChoices(Buffer.from(`data: {"choices":[],"usage"${json}}\n\n`), true);

  it.each([':null', ': null', ' : null'])('pass a usage%s by', (json) => {
    const { pass, usage: found } = usage(json);
    expect([pass.length > 0, found]).toEqual([true, undefined]);
  });

  it.each([':{"total_tokens":1}', ' : {"total_tokens":1}'])('show a usage%s, which can be hidden', (json) => {
    const { pass, usage: found } = usage(json);
    expect([pass.length, found]).toEqual([0, { total_tokens: 1 }]);
  });

  it('show errors and the end', () => {
    const events = Buffer.from('data: {"error":{"message":"no"}}\n\ndata: [DONE]\n\n');
    const { error, closing } = inspectChoices(events, false);
    expect([error, closing?.toString()]).toEqual(['no', 'data: [DONE]\n\n']);
  });
});
