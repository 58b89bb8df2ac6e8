import { describe, expect, test } from 'vitest';
import { type AnswerSummary, summarizeAnswer, summarizeStream } from '../../../src/wire/answer/summary.ts';

const NOTHING: AnswerSummary = { refused: false, cut: false, calls: [], text: '' };
const stream = (...values: unknown[]) =>
  Buffer.from(`${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')}data: [DONE]\n\n`);
const delta = (fields: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
});

describe('summarizeStream()', () => {
  test.each<[string, Buffer, Partial<AnswerSummary>]>([
    [
      'a text',
      stream(delta({ content: 'Hel' }), delta({ content: 'lo' }), delta({}, 'stop')),
      { text: 'Hello' },
    ],
    [
      'an end at the output limit',
      stream(delta({ content: 'Hel' }), delta({}, 'length')),
      { text: 'Hel', cut: true },
    ],
    ['a refusal', stream(delta({ refusal: 'No' }), delta({ refusal: '.' })), { refused: true }],
    [
      'tool calls in pieces',
      stream(
        delta({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
        delta({ tool_calls: [{ index: 1, function: { name: 'g', arguments: '{}' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      ),
      {
        calls: [
          { name: 'f', arguments: '{"a":1}' },
          { name: 'g', arguments: '{}' },
        ],
      },
    ],
    [
      'a message of Anthropic',
      stream(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
        { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', name: 'f', input: {} } },
        { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
        { type: 'message_delta', delta: { stop_reason: 'max_tokens' } },
        { type: 'message_stop' },
      ),
      { text: 'Hi', cut: true, calls: [{ name: 'f', arguments: '{"a"' }] },
    ],
    [
      'a refusal by Anthropic',
      stream({ type: 'message_delta', delta: { stop_reason: 'refusal' } }),
      { refused: true },
    ],
    [
      'a response by its closing event',
      stream(
        { type: 'response.created', response: { status: 'in_progress', output: [] } },
        { type: 'response.output_text.delta', delta: 'Hi' },
        {
          type: 'response.incomplete',
          response: {
            status: 'incomplete',
            output: [
              { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] },
              { type: 'function_call', name: 'f', arguments: '{' },
            ],
          },
        },
      ),
      { text: 'Hi', cut: true, calls: [{ name: 'f', arguments: '{' }] },
    ],
    ['malformed events', stream(1, null, { choices: [null, { delta: 'x' }], delta: 3, index: 'a' }), {}],
  ])('reads %s', (_name, events, expected) => {
    expect(summarizeStream(events, true)).toEqual({ ...NOTHING, ...expected });
  });

  test('reads only the end when the beginning is missing', () => {
    const events = stream(delta({ content: 'lo"}' }), delta({}, 'length'));
    expect(summarizeStream(events, false)).toEqual({ ...NOTHING, cut: true });
  });
});

test('summarizeAnswer() reads the calls of all three APIs', () => {
  const call = { name: 'f', arguments: '{"a":1}' };
  const input = { a: 1 };
  expect(summarizeAnswer({ choices: [{ message: { tool_calls: [{ function: call }] } }] }).calls).toEqual([
    { name: 'f', arguments: '{"a":1}' },
  ]);
  expect(summarizeAnswer({ content: [{ type: 'tool_use', name: 'f', input }] }).calls).toEqual([
    { name: 'f', arguments: input },
  ]);
  expect(summarizeAnswer({ output: [{ type: 'function_call', ...call }] }).calls).toEqual([
    { name: 'f', arguments: '{"a":1}' },
  ]);
});
