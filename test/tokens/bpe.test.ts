import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNumberHeap, createPieceCounter } from '../../src/tokens/bpe.ts';
import { type FindRank, NO_RANK, readPackedRanks, unpackRanks } from '../../src/tokens/ranks.ts';

/** The ranks of a made-up vocabulary: all letters, then the given tokens in order. */
function vocabulary(...tokens: string[]): FindRank {
  return (bytes, start, end) => {
    if (end - start === 1) return 0;
    return tokens.indexOf(Buffer.from(bytes.subarray(start, end)).toString()) + 1 || NO_RANK;
  };
}

function count(text: string, ...tokens: string[]): number {
  const bytes = Buffer.from(`<${text}>`);
  return createPieceCounter(vocabulary(...tokens))(bytes, 1, bytes.length - 1);
}

describe('createPieceCounter()', () => {
  it('counts a piece that is a token as one, even where merging would not reach it', () => {
    expect(count('abcd', 'abcd')).toBe(1);
    expect(count('abcde', 'abcd')).toBe(5);
  });

  it('merges the pair of the lowest rank first', () => {
    expect(count('abcd', 'bc', 'ab', 'cd')).toBe(3);
    expect(count('abcd', 'ab', 'bc', 'cd')).toBe(2);
  });

  it('merges the leftmost of equal pairs first', () => {
    expect(count('aaab', 'aa', 'aab')).toBe(3);
    expect(count('aaaa', 'aa', 'aaa')).toBe(2);
  });

  it('merges what merging makes', () => {
    expect(count('abcabcx', 'ab', 'abc', 'abcabc')).toBe(2);
  });

  it('forgets what an earlier piece left behind', () => {
    const bytes = Buffer.from('abababac');
    const countPiece = createPieceCounter(vocabulary('ab', 'abab'));
    expect([8, 3, 8, 1].map((end) => countPiece(bytes, 0, end))).toEqual([4, 2, 4, 1]);
  });

  it.each(['a', ' ', '中', 'ab!?'])('looks up at most three pairs a byte in a run of %j', (unit) => {
    const findRank = unpackRanks(readPackedRanks('cl100k_base'));
    let lookups = 0;
    const countPiece = createPieceCounter((...span) => {
      lookups++;
      return findRank(...span);
    });
    const bytes = Buffer.alloc(100_000, unit);
    expect(countPiece(bytes, 0, bytes.length)).toBeLessThan(bytes.length);
    expect(lookups).toBeLessThanOrEqual(3 * bytes.length);
  });
});

it('pops numbers in ascending order, equal ones included', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -50, max: 50 }), { maxLength: 3000, size: 'max' }), (numbers) => {
      const heap = createNumberHeap();
      for (const number of numbers) heap.push(number);
      expect(heap.size).toBe(numbers.length);
      expect(numbers.map(() => heap.pop())).toEqual(numbers.toSorted((a, b) => a - b));
      expect(heap.size).toBe(0);
    }),
  );
});

it('stays in order when pushes and pops mix', () => {
  const heap = createNumberHeap();
  for (const number of [5, 2, 9]) heap.push(number);
  expect([heap.pop(), heap.pop()]).toEqual([2, 5]);
  for (const number of [7, 1]) heap.push(number);
  expect([heap.pop(), heap.pop(), heap.pop()]).toEqual([1, 7, 9]);
});
