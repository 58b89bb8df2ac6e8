import fc from 'fast-check';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { describe, expect, it } from 'vitest';
import { endOfPiece } from '../../src/tokens/pieces.ts';
import { makeCorpus } from './corpus.ts';

describe.each([
  ['o200k_base', o200k.pat_str],
  ['cl100k_base', cl100k.pat_str],
] as const)('endOfPiece.%s', (encoding, pattern) => {
  const expression = new RegExp(pattern, 'gu');
  const cut = (text: string) => {
    const bytes = Buffer.from(text);
    const ends: number[] = [];
    for (let end = 0; end < bytes.length; ends.push(end)) end = endOfPiece[encoding](bytes, end);
    return ends;
  };
  const cutByExpression = (text: string) => {
    let end = 0;
    return (text.match(expression) ?? []).map((piece) => {
      end += Buffer.byteLength(piece);
      return end;
    });
  };
  const expectSame = (text: string) => {
    const ends = cut(text);
    const expected = cutByExpression(text);
    // Comparing this way first, because toEqual is slow on long arrays.
    if (ends.join() !== expected.join()) expect({ text, ends }).toEqual({ text, ends: expected });
  };

  it('cuts 10,000 hard texts as the regular expression does', () => {
    makeCorpus(10_000, 4747).forEach(expectSame);
  });

  it('knows every character, wherever it stands', () => {
    // The planes from 4 to 13 have no characters, and 15 and 16 only private ones, which are all alike.
    for (let first = 0; first < 0xf1000; first = first === 0x3f000 ? 0xe0000 : first + 0x1000) {
      const characters = Array.from({ length: 0x1000 }, (_, i) => String.fromCodePoint(first + i));
      expectSame(characters.map((it) => `x${it}A${it} `).join(''));
    }
  });

  it('cuts any mix of letters, marks, digits, symbols and spaces as the regular expression does', () => {
    const unit = fc.constantFrom(
      ...'aZßÉǅʰ中\u0301\u20dd1²Ⅷ٣/._-😀\ud800',
      ' ',
      '\n',
      '\r',
      '\t',
      '\u00a0',
      "'s",
      "'RE",
      "'lL",
      "'v",
    );
    fc.assert(fc.property(fc.string({ unit, maxLength: 30 }), expectSame), {
      numRuns: process.env.GW_LONG ? 200_000 : 5_000,
    });
  });

  it('cuts runs longer than the regular expression can', () => {
    const run = 5_000_000;
    const bytes = Buffer.from(`${'文'.repeat(run)}!`);
    expect(endOfPiece[encoding](bytes, 0)).toBe(3 * run);
  });
});
