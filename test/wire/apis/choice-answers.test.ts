import { describe, expect, it } from 'vitest';
import { choicesText, inspectChoices } from '../../../src/wire/apis/choice-answers.ts';

const chunk = (choices: string) =>
  `data: {"id":"c","object":"chat.completion.chunk","choices":${choices}}\n\n`;
const delta = (json: string) => chunk(`[{"index":0,"delta":${json},"logprobs":null,"finish_reason":null}]`);
const textOf = (...events: string[]) => choicesText(Buffer.from(events.join('')), true);

describe('choicesText() of a stream', () => {
  it('joins the content deltas', () => {
    expect(textOf(delta('{"content":"Bon"}'), delta('{"content":"jour, ça va?"}'))).toEqual([
      'Bonjour, ça va?',
    ]);
  });

  it.each([
    ['escapes', delta('{"content":"a \\"b\\"\\n"}'), 'a "b"\n'],
    ['content that ends like a chunk', delta('{"content":"{\\"a\\":\\"b\\"}"}'), '{"a":"b"}'],
    ['a refusal next to content', delta('{"content":"a","refusal":"b"}'), 'ab'],
    [
      'a tool call after content',
      delta('{"content":"","tool_calls":[{"function":{"arguments":"{}"}}]}'),
      '{}',
    ],
    [
      'another choice',
      chunk('[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]'),
      'ab',
    ],
    ['the text of a legacy completion', chunk('[{"index":0,"text":"a"}]'), 'a'],
    ['no content', delta('{}'), ''],
    ['nothing of a truncated chunk', 'data: {"choices":[{"index":0,"delta":{"content":"a"},"fin', ''],
  ])('counts %s', (_, events, text) => {
    expect(textOf(delta('{"content":"<"}'), events)).toEqual([`<${text}`]);
  });
});

describe('inspectChoices()', () => {
  const usage = (json: string) =>
    inspectChoices(Buffer.from(`data: {"choices":[],"usage"${json}}\n\n`), true);

  it.each([
    [
      'Groq',
      '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"total_tokens":1}}}',
    ],
    ['Moonshot', '{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"total_tokens":1}}]}'],
  ])('reads the usage where %s reports it', (_, data) => {
    const events = Buffer.from(`data: ${data}\n\n`);
    expect(inspectChoices(events, true)).toEqual({
      pass: events,
      usage: { total_tokens: 1 },
      usageIs: undefined,
    });
  });

  it.each([':null', ': null', ' : null'])('ignores usage%s', (json) => {
    const { pass, usage: reported } = usage(json);
    expect([pass.length > 0, reported]).toEqual([true, undefined]);
  });

  it.each([':{"total_tokens":1}', ' : {"total_tokens":1}'])('reads usage%s and hides its event', (json) => {
    const { pass, usage: reported } = usage(json);
    expect([pass.length, reported]).toEqual([0, { total_tokens: 1 }]);
  });

  it('finds errors and the closing event', () => {
    const events = Buffer.from('data: {"error":{"message":"no"}}\n\ndata: [DONE]\n\n');
    const { error, closing } = inspectChoices(events, false);
    expect([error, closing?.toString()]).toEqual(['no', 'data: [DONE]\n\n']);
  });
});
