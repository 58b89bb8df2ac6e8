import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAlign } from '../../../src/gateway/admission/align.ts';

const align = (prompt: number[], base: number[]) => [
  ...createAlign(Int32Array.from(prompt))(Int32Array.from(base)),
];

test.each<[string, number[], number[], number[]]>([
  ['the same', [1, 2, 3], [1, 2, 3], [0, 1, 2]],
  ['an appended tail', [1, 2, 3, 4], [1, 2], [0, 1, -1, -1]],
  ['a replaced first block and a tail', [9, 2, 3, 4], [1, 2, 3], [-1, 1, 2, -1]],
  ['an inserted block', [1, 9, 2, 3], [1, 2, 3], [0, -1, 1, 2]],
  ['a removed block', [1, 3, 4], [1, 2, 3, 4], [0, 2, 3]],
  ['several edits', [1, 8, 3, 4, 9, 6, 7], [1, 2, 3, 4, 5, 5, 6], [0, -1, 2, 3, -1, 6, -1]],
  ['repeated blocks', [5, 5, 5, 1], [5, 5, 1], [0, 1, -1, 2]],
  ['unknown blocks', [0, 0, 1], [2, 1], [-1, -1, 1]],
  ['nothing in common', [1, 2], [3], [-1, -1]],
])('aligns %s', (_what, prompt, base, places) => {
  expect(align(prompt, base)).toEqual(places);
});

test('aligns equal blocks only, each once and in order', () => {
  const list = fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 40 });
  fc.assert(
    fc.property(list, fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 40 }), (prompt, base) => {
      const places = align(prompt, base);
      expect(places).toHaveLength(prompt.length);
      let last = -1;
      places.forEach((place, i) => {
        if (place < 0) return;
        expect(place).toBeGreaterThan(last);
        expect(base[place]).toBe(prompt[i]);
        last = place;
      });
    }),
    { numRuns: 2_000 },
  );
});
