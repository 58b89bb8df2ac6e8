import fc from 'fast-check';
import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { describe, expect, it } from 'vitest';
import { countTokens } from '../../src/tokens/count.ts';
import { type Encoding, tokenBound } from '../../src/tokens/encoding.ts';
import { makeCorpus } from './corpus.ts';

const ENCODINGS: Encoding[] = ['o200k_base', 'cl100k_base'];
/** js-tiktoken is the reference, so it may take a while. */
const SLOW_MS = 120_000;
const RUNS = process.env.GW_LONG ? 30_000 : 900;

describe.each(ENCODINGS)('countTokens(%s)', (encoding) => {
  const reference = new Tiktoken(encoding === 'o200k_base' ? o200k : cl100k);
  const expectSame = (text: string) => {
    const tokens = countTokens(text, encoding);
    expect({ text, tokens }).toEqual({ text, tokens: reference.encode(text, [], []).length });
    expect(tokens).toBeLessThanOrEqual(tokenBound(text));
  };

  it(
    'counts hard texts as js-tiktoken does, and no text as more than its bytes',
    () => {
      for (const text of makeCorpus(RUNS, 20_261_120)) expectSame(text);
    },
    SLOW_MS,
  );

  it.each([
    [
      'code units, lone surrogates among them',
      fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
    ],
    ['code points', fc.string({ unit: 'binary', maxLength: 60 })],
    ['graphemes', fc.string({ unit: 'grapheme', maxLength: 60 })],
    ['ASCII', fc.string({ unit: 'binary-ascii', maxLength: 200 })],
    [
      'letters, marks, spaces',
      fc.string({ unit: fc.constantFrom(..."aZß中\u0301ǅ'sS \n\t\r1/."), maxLength: 40 }),
    ],
  ])(
    'counts any %s as js-tiktoken does',
    (_, texts) => {
      fc.assert(fc.property(texts, expectSame), { numRuns: RUNS / 3 });
    },
    SLOW_MS,
  );

  it.each(['a', 'A', ' ', '\n', '=', 'ab', 'é', '中', '😀', '\0'])(
    'counts a run of %j as js-tiktoken does',
    (unit) => {
      for (const length of [63, 64, 65, 128, 129, 400]) expectSame(unit.repeat(length / unit.length));
    },
    SLOW_MS,
  );

  it('counts the name of a special token as text', () => {
    expect(countTokens('<|endoftext|>', encoding)).toBeGreaterThan(1);
  });

  it('counts nothing in an empty text', () => {
    expect(countTokens('', encoding)).toBe(0);
  });

  it.each(['a', 'Q', ' ', '\n', '-=', '文', '🚀', '\u0301'])(
    'takes near-linear time for a run of %j',
    (unit) => {
      // The process's own time: other work on the machine is no measure of it.
      const timeOf = (length: number) => {
        const text = unit.repeat(length);
        const times = [1, 2, 3].map(() => {
          const start = process.cpuUsage();
          countTokens(text, encoding);
          const { user, system } = process.cpuUsage(start);
          return user + system;
        });
        return Math.min(...times);
      };
      // 16 times the text: linear is 16, quadratic 256.
      const small = timeOf(8_000);
      expect(timeOf(128_000) / small).toBeLessThan(100);
    },
    SLOW_MS,
  );
});
