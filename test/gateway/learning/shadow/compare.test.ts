import { describe, expect, test } from 'vitest';
import { agree, isComparable } from '../../../../src/gateway/learning/shadow/compare.ts';
import type { Signs } from '../../../../src/wire/answer/summary.ts';

const answer = (parts: Partial<Signs> | string): Signs => {
  const nothing = { refused: false, cut: false, calls: [], text: '' };
  return typeof parts === 'string' ? { ...nothing, text: parts } : { ...nothing, ...parts };
};
const call = (name: string, given: unknown) => answer({ calls: [{ name, given }] });

describe('agree()', () => {
  test.each<[Signs, Signs, boolean | undefined]>([
    [answer('42'), answer(' 42.0 '), true],
    [answer('$1,000'), answer('1000'), true],
    [answer('42'), answer('43'), false],
    [answer('-5'), answer('5'), false],
    [answer('B'), answer('**b**.'), true],
    [answer('(B)'), answer('C'), false],
    [answer('Paris'), answer('It is Paris.'), undefined],
    [answer('42'), answer('forty-two'), undefined],
    [answer('It is so.'), answer('It is so.'), undefined],
    [answer(''), answer(''), undefined],
    [answer('{"a": 1, "b": ["x"]}'), answer('```json\n{"b":["X"],"a":1}\n```'), true],
    [answer('{"a": 1}'), answer('{"a": 2}'), false],
    [answer('{"a": 1}'), answer('{"a": 1, "b": 2}'), false],
    [answer('{"a": null}'), answer('{"b": null}'), false],
    [answer('{"a": 1}'), answer('{"a": 1'), undefined],
    [answer(`{"a": "${'long '.repeat(20)}"}`), answer(`{"a": "${'long '.repeat(20)}"}`), undefined],
    [answer('[1, 2]'), answer('[2, 1]'), false],
    [call('f', '{"a":1}'), call('f', { a: 1 }), true],
    [call('f', '{"a":1}'), call('g', '{"a":1}'), false],
    [call('f', ''), call('f', '{}'), true],
    [call('f', '{"a":'), call('f', '{"a":'), undefined],
    [call('f', '{}'), answer('{}'), undefined],
    [answer({ text: '42', cut: true }), answer('42'), undefined],
    [answer('42'), answer({ text: '42', refused: true }), undefined],
  ])('of %j and %j is %s', (a, b, same) => {
    expect([agree(a, b), agree(b, a)]).toEqual([same, same]);
  });

  test('is not asked of what could be worded in another way', () => {
    expect(['It depends.', '', 'x'.repeat(50)].map(answer).some(isComparable)).toBe(false);
    expect(['7', 'yes', '{}', '[]'].map(answer).every(isComparable)).toBe(true);
  });
});
