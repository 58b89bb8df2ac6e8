import fc from 'fast-check';
import { expect, test } from 'vitest';
import { usageMember } from '../../../src/wire/answer/usage.ts';

const usageIn = (text: string) => usageMember(Buffer.from(text));

test('usageMember() agrees with JSON.parse on nested keys and strings named usage', () => {
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

test('usageMember() finds usage far from the end', () => {
  expect(usageIn(JSON.stringify({ usage: { a: 1 }, text: 'x'.repeat(10_000) }))).toEqual({ a: 1 });
});

test('usageMember() is undefined for anything but a JSON object', () => {
  expect(['', 'usage', '"usage"', '["usage",1]', '{"usage"'].map(usageIn)).toEqual(Array(5).fill(undefined));
});
