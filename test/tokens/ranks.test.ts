import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { NO_RANK, readPackedRanks, unpackRanks } from '../../src/tokens/ranks.ts';

const rankOf = (findRank: ReturnType<typeof unpackRanks>, bytes: Uint8Array) =>
  findRank(bytes, 0, bytes.length);

describe.each(['o200k_base', 'cl100k_base'] as const)('unpackRanks(%s)', (encoding) => {
  const packed = readPackedRanks(encoding);
  const tokens = packed.toString('latin1').split(' ').slice(2);
  const findRank = unpackRanks(packed);

  it('finds every token at its rank', () => {
    const misplaced = tokens.filter((token, rank) => rankOf(findRank, Buffer.from(token, 'base64')) !== rank);
    expect(tokens.length).toBeGreaterThan(100_000);
    expect(misplaced).toEqual([]);
  });

  it('is the table that js-tiktoken exports', () => {
    const { bpe_ranks: exported } = createRequire(import.meta.url)(`js-tiktoken/ranks/${encoding}`);
    expect(readPackedRanks(encoding).equals(Buffer.from(exported))).toBe(true);
  });

  it('finds every single byte, so that every text can be counted', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect(bytes.filter((_, i) => findRank(bytes, i, i + 1) === NO_RANK)).toHaveLength(0);
  });

  it('finds nothing for bytes that are no token', () => {
    for (const text of ['', 'qzxqj', ' '.repeat(200), '\u0000\u0001\u0002']) {
      expect(rankOf(findRank, Buffer.from(text))).toBe(NO_RANK);
    }
  });
});

describe('unpackRanks()', () => {
  it('reads a table of several lines', () => {
    const findRank = unpackRanks(Buffer.from('! 0 YQ== Yg==\n! 2 YWI=\n'));
    expect(['a', 'b', 'ab', 'ba'].map((text) => rankOf(findRank, Buffer.from(text)))).toEqual([
      0,
      1,
      2,
      NO_RANK,
    ]);
  });

  it('refuses a table with a gap', () => {
    expect(() => unpackRanks(Buffer.from('! 0 YQ== Yg==\n! 3 YWI='))).toThrow(
      'a line starts at rank 3, not 2',
    );
  });
});
