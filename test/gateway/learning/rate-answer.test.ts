import { describe, expect, test } from 'vitest';
import { rateAnswer } from '../../../src/gateway/learning/rate-answer.ts';
import { summarizeAnswer } from '../../../src/wire/answer/summary.ts';

const free = { json: false, limited: false };
const chat = (message: object, finish_reason = 'stop') => ({ choices: [{ message, finish_reason }] });
const call = (given: unknown) => ({ tool_calls: [{ function: { name: 'f', arguments: given } }] });

describe('rateAnswer()', () => {
  test.each<[string, Record<string, unknown>, number | undefined]>([
    ['a text', chat({ content: 'Hello' }), undefined],
    ['a refusal', chat({ refusal: 'No.' }), 0],
    ['a refusal of Anthropic’s', { stop_reason: 'refusal', content: [] }, 0],
    ['a refusal in a response', { output: [{ type: 'message', content: [{ type: 'refusal' }] }] }, 0],
    ['an unfinished one', chat({ content: 'Hel' }, 'length'), 0],
    [
      'a message that is not finished',
      { stop_reason: 'max_tokens', content: [{ type: 'text', text: 'a' }] },
      0,
    ],
    ['an unfinished response', { status: 'incomplete', output: [] }, 0],
    ['a call with readable arguments', chat(call('{"a":1}'), 'tool_calls'), 1],
    ['a call without arguments', chat(call(''), 'tool_calls'), 1],
    ['a call with broken arguments', chat(call('{"a":'), 'tool_calls'), 0],
    ['a broken call in a response', { output: [{ type: 'function_call', arguments: '{]' }] }, 0],
    ['nothing', {}, undefined],
    ['rubbish', { choices: [null, 3], output: 'x', content: { a: 1 } }, undefined],
  ])('%s', (_name, answer, quality) => {
    expect(rateAnswer(summarizeAnswer(answer), free)).toBe(quality);
  });

  test('checks JSON that was asked for', () => {
    const json = { json: true, limited: false };
    expect(rateAnswer(summarizeAnswer(chat({ content: '{"a": 1}' })), json)).toBe(1);
    expect(rateAnswer(summarizeAnswer(chat({ content: 'Here it is: {"a": 1}' })), json)).toBe(0);
    expect(rateAnswer(summarizeAnswer({ content: [{ type: 'text', text: '{}' }] }), json)).toBe(1);
    const output = [{ type: 'message', content: [{ type: 'output_text', text: '{' }] }];
    expect(rateAnswer(summarizeAnswer({ output }), json)).toBe(0);
  });

  test('does not count an answer as bad that reached its own limit', () => {
    const limited = { json: true, limited: true };
    expect(rateAnswer(summarizeAnswer(chat({ content: '{"a":' }, 'length')), limited)).toBeUndefined();
  });
});
