import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUCKETS, ngramBuckets } from '../../../src/routing/score/ngrams.ts';

test('ngramBuckets() answers distinct buckets in range, the same each time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const buckets = [...ngramBuckets(text)];
      expect(new Set(buckets).size).toBe(buckets.length);
      expect(buckets.every((bucket) => bucket >= 0 && bucket < BUCKETS)).toBe(true);
      expect([...ngramBuckets(text)]).toEqual(buckets);
    }),
  );
});

test('ngramBuckets() ignores case and the digits of a number', () => {
  expect(ngramBuckets('Order 66 NOW')).toEqual(ngramBuckets('order 42 now'));
  expect(ngramBuckets('order 66 now')).not.toEqual(ngramBuckets('order 666 now'));
});

test('ngramBuckets() sees the order of words', () => {
  expect([...ngramBuckets('dog bites man')].sort()).not.toEqual([...ngramBuckets('man bites dog')].sort());
});
