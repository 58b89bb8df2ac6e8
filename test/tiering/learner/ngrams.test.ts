import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BUCKETS, ngramBuckets } from '../../../src/tiering/learner/ngrams.ts';

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

/** How many buckets two texts have in common. */
function common(one: string, other: string): number {
  const known = new Set(ngramBuckets(one));
  return ngramBuckets(other).filter((bucket) => known.has(bucket)).length;
}

test('ngramBuckets() knows forms of a long word by their beginning, and short words only whole', () => {
  expect(common('derivative', 'derivation')).toBe(1);
  expect(common('dog', 'dot')).toBe(0);
});

test('ngramBuckets() sees which words stand near each other', () => {
  expect(common('bread and butter', 'bread or butter')).toBeGreaterThan(
    common('bread and butter', 'bread in my butter'),
  );
});

test('ngramBuckets() knows what a text ends with', () => {
  const others = 'one two three four five six seven eight nine ten eleven twelve';
  expect(common('glacier', `like a glacier ${others}`)).toBe(2);
  expect(common('glacier', `${others} glacier`)).toBe(3);
});

test('ngramBuckets() reads what is written without spaces sign by sign', () => {
  expect(common('写一首关于春天的诗', '写一篇关于冬天的文章')).toBeGreaterThan(8);
});
