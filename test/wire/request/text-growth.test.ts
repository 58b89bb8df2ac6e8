import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sharedLength } from '../../../src/json/bytes.ts';
import type { PromptBlocks } from '../../../src/wire/request/prompt-block.ts';
import {
  continuedGrowth,
  normalizationGrowth,
  rewriteGrowth,
} from '../../../src/wire/request/text-growth.ts';

const whole = ({ length }: Buffer) => ({ start: 0, end: length });

const escaped = (text: string) =>
  text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

test('plain text does not grow', () => {
  expect(normalizationGrowth(Buffer.from('{"a":"plain \\n text"}'))).toBe(0);
  expect(normalizationGrowth(Buffer.from('"Grüße, 漢字"'))).toBe(0);
});

test('a text grows as it does in its longest normal form', () => {
  // One character of 3 bytes, 18 characters of 33 bytes in NFKC.
  expect(normalizationGrowth(Buffer.from('"\ufdfa"'))).toBe(30);
  expect(normalizationGrowth(Buffer.from('"\\ufdfa"'))).toBe(27);
});

test('what grows is found at any place of a body, and in a part of its memory', () => {
  const text = `${'x'.repeat(9)}\ufdfa${'y'.repeat(30)}\\ufdfa\\u12\u00e9${'z'.repeat(5)}\ufdfa`;
  for (let before = 0; before < 9; before++) {
    const bytes = Buffer.from('\u00e9'.repeat(before) + text + 'z'.repeat(before));
    expect(normalizationGrowth(bytes.subarray(before * 2))).toBe(30 + 27 + 30);
  }
});

test('the bytes and their growth bound every normal form of any text', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc
      .array(fc.constantFrom('\ufdfa', '\u{1d160}', 'e', '\u0301', '\u1100', '\u1161', '½', '<'))
      .map((all) => all.join('')),
  );
  fc.assert(
    fc.property(texts, fc.boolean(), (text, escapes) => {
      const json = escapes ? `"${escaped(text)}"` : JSON.stringify(text);
      const bytes = Buffer.from(json);
      const bound = bytes.length + normalizationGrowth(bytes);
      expect(Buffer.byteLength(text.normalize('NFC'))).toBeLessThanOrEqual(bound);
      expect(Buffer.byteLength(text.normalize('NFKC'))).toBeLessThanOrEqual(bound);
    }),
  );
});

test('a prompt that begins as another one grows as it does by itself', () => {
  const text = fc
    .array(fc.constantFrom('\ufdfa', 'é', 'e\u0301', '}', '"', '\\ufdfa', '\\u00e9', '\\', 'ufdfa', 'a'), {
      maxLength: 12,
    })
    .map((parts) => parts.join(''));
  const grows = (shared: string, earlier: string, later: string, most: number) => {
    const [bytes, next] = [earlier, later].map((rest) => Buffer.from(shared + rest)) as [Buffer, Buffer];
    const prompt = { bytes, growth: normalizationGrowth(bytes) } as PromptBlocks;
    const length = Math.min(sharedLength(bytes, next), most);
    if (length > 0)
      expect(continuedGrowth({ entry: prompt, shared: length }, next)).toBe(normalizationGrowth(next));
  };
  fc.assert(fc.property(text, text, text, fc.constantFrom(3, 8, 1_000), grows), { numRuns: 2_000 });
});

const rewritten = (value: unknown) =>
  JSON.stringify(value, null, 1).replace(/[<>&'\u0080-\uffff]/g, (unit) => escaped(unit));

test.each<[string, (value: unknown) => unknown, (value: unknown) => unknown]>([
  ['JSON', (value) => value, (value) => value],
  ['JSON in a string', (value) => ({ arguments: JSON.stringify(value) }), (value) => ({ arguments: value })],
])(
  '%s and its growth bound what a template writes: escapes, and a line for each member',
  (_what, sent, read) => {
    const values = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' });
    fc.assert(
      fc.property(
        fc.oneof(values, fc.array(fc.constantFrom('"', ']', '[', ',', '\\', '\\é', '\\<', "'", 1))),
        (value) => {
          const bytes = Buffer.from(JSON.stringify(sent(value)));
          const grown = bytes.length + rewriteGrowth(bytes, [whole(bytes)]);
          expect(rewritten(read(value)).length).toBeLessThanOrEqual(grown);
        },
      ),
      { numRuns: 2_000 },
    );
  },
);

test.each([
  ['"[1,2]"', true],
  [String.raw`" \n\t{\"a\":1}"`, true],
  [String.raw`"\u005b1,2]"`, true],
  ['"see: [1,2]"', false],
  ['"if (a) { b(1, 2) }"', false],
])('brackets and commas in the string %s grow only if all of it may be JSON', (string, mayGrow) => {
  const bytes = Buffer.from(`[${string}]`);
  const alone = Buffer.from('[""]');
  const growth = rewriteGrowth(bytes, [whole(bytes)]) - rewriteGrowth(alone, [whole(alone)]);
  expect(growth > 0).toBe(mayGrow);
});
