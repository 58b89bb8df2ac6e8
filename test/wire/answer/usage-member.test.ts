import fc from 'fast-check';
import { expect, test } from 'vitest';
import { usageMember } from '../../../src/wire/answer/usage-member.ts';

const usageIn = (text: string) => usageMember(Buffer.from(text));

test('finds what JSON.parse finds, wherever else the word stands', () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom('usage', '"usage"', '"usage":{"a":1}}', 1, null, 'é'),
      fc.array(tie('any'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('usage', 'choices', 'a"usage"'), tie('any'), { maxKeys: 3 }),
    ),
  })).any;
  const answer = fc.dictionary(fc.constantFrom('id', 'usage', 'choices', 'z'), value, { maxKeys: 4 });
  fc.assert(
    fc.property(answer, fc.constantFrom(undefined, 1), (object, indent) => {
      expect(usageIn(JSON.stringify(object, null, indent))).toEqual(JSON.parse(JSON.stringify(object)).usage);
    }),
  );
});

test('finds a usage that stands far before the end', () => {
  expect(usageIn(JSON.stringify({ usage: { a: 1 }, text: 'x'.repeat(10_000) }))).toEqual({ a: 1 });
});

test('finds none in what is no JSON object', () => {
  expect(['', 'usage', '"usage"', '["usage",1]', '{"usage"'].map(usageIn)).toEqual(Array(5).fill(undefined));
});
