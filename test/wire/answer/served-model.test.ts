import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerHead, isSameModel, namesModel } from '../../../src/wire/answer/served-model.ts';

const name = fc.constantFrom('m', 'dear', 'model', 'm"', 'm\\', '');
const prose = fc.oneof(name, fc.constant('"model":"m"'), fc.constant('{"model":"m"}'));
const value = fc.oneof(prose, fc.integer(), fc.constant(null), fc.array(prose, { maxLength: 2 }));
const members = fc.uniqueArray(
  fc.tuple(
    fc.constantFrom('model', 'id', 'message', 'x'),
    fc.oneof(
      { arbitrary: name, weight: 3 },
      value,
      fc.dictionary(fc.constantFrom('model', 'id'), value, { maxKeys: 2 }),
    ),
  ),
  { minLength: 1, maxLength: 4, selector: ([key]) => key },
);
const layout = fc.record({
  space: fc.constantFrom('', ' '),
  prefix: fc.constantFrom('', 'data: '),
});

function written(list: readonly (readonly [string, unknown])[], space: string): string {
  return `{${list.map(([key, item]) => `"${key}":${space}${JSON.stringify(item)}`).join(`,${space}`)}}`;
}

test('an answer that names a model by the quick check names it by the whole one', () => {
  let hits = 0;
  fc.assert(
    fc.property(
      members,
      members,
      layout,
      fc.constantFrom('m', 'dear', 'm\\'),
      (first, second, { space, prefix }, model) => {
        const answer = Buffer.from(
          `${prefix}${written(first, space)}\n\n${prefix}${written(second, space)}\n\n`,
        );
        const isStream = prefix.includes('data');
        const body = isStream ? answer : Buffer.from(prefix + written(first, space));
        if (!namesModel(body, model)) return;
        hits++;
        expect(answerHead(body, isStream)?.model).toBe(model);
      },
    ),
    { numRuns: 5_000 },
  );
  expect(hits).toBeGreaterThan(100);
});

test.each([
  ['{"id":"c","object":"chat.completion","model":"m","choices":[{}]}', true],
  ['data: {"id":"c","model": "m","choices":[{}]}\n\n', true],
  ['{"model":"mm"}', false],
  ['{"message":{"model":"m"},"model":"dear"}', false],
  ['{"x":"\\"model\\":\\"m\\"","model":"dear"}', false],
  ['{"a":"model","model":"m"}', false],
])('the quick check of %s for "m" is %s', (answer, expected) => {
  expect(namesModel(Buffer.from(answer), 'm')).toBe(expected);
});

test.each([
  ['m', 'm', true],
  ['models/gemini-3-pro', 'gemini-3-pro', true],
  ['gpt-5', 'gpt-5-2026-03-05', true],
  ['claude-opus-latest', 'claude-opus', true],
  ['gpt-5', 'gpt-5-mini', false],
])('%s served as %s is the same model: %s', (requested, served, expected) => {
  expect(isSameModel(requested, served)).toBe(expected);
});

test.each([
  ['a stream of Gemini', 'data: {"candidates":[],"modelVersion":"gemini-x","responseId":"r1"}\n\n', true],
  ['an answer of Gemini', '{"candidates":[],"modelVersion":"gemini-x","responseId":"r1"}', false],
  [
    'a body that has both amid long texts',
    JSON.stringify({ a: 'x'.repeat(5_000), model: 'gemini-x', b: 'y'.repeat(5_000), id: 'r1' }),
    false,
  ],
])('model and id are read from %s', (_what, answer, isStream) => {
  expect(answerHead(Buffer.from(answer), isStream)).toEqual({ model: 'gemini-x', id: 'r1' });
});
