import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nanoFromPico, picoFromNano, scaleDecimal } from '../../src/pricing/pico.ts';

describe('scaleDecimal()', () => {
  test.each([
    ['0.15', 150_000n],
    ['2.50', 2_500_000n],
    ['15', 15_000_000n],
    ['0', 0n],
    ['0.003625', 3_625n],
    ['0.0000001', 1n], // finer than a pico-dollar: up, since a price may not fall short
    ['0.08333333333333334', 83_334n],
  ])('reads %j, as dollars per million tokens, exactly', (text, pico) => {
    expect(scaleDecimal(text, 6)).toBe(pico);
  });

  test.each(['', '-1', '1,5', 'free', '1.', '.5', '0x10', 'NaN', 'Infinity', '1234567890'])(
    'takes %j for no decimal',
    (text) => {
      expect(scaleDecimal(text, 6)).toBeUndefined();
    },
  );

  test('reads any number that JavaScript prints, without the drift of a float product', () => {
    expect(scaleDecimal(String(1e-7), 9)).toBe(100n);
    expect(scaleDecimal(String(1.5e-7), 9)).toBe(150n);
    expect(scaleDecimal(String(1e21), 1)).toBe(10n ** 22n);
    expect(2.01 * 1e6).not.toBe(2_010_000); // what a float makes of $2.01
    expect(scaleDecimal(String(2.01), 6)).toBe(2_010_000n);
  });

  test('gives back every decimal of six places', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (micro) => {
        expect(scaleDecimal(String(micro / 1e6), 6)).toBe(BigInt(micro));
      }),
    );
  });
});

describe('nanoFromPico()', () => {
  test('rounds up, once', () => {
    expect([0n, 1n, 999n, 1_000n, 1_001n].map(nanoFromPico)).toEqual([0, 1, 1, 1, 2]);
  });

  test('stops at the largest exact number', () => {
    expect(nanoFromPico(10n ** 30n)).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('is undone by picoFromNano()', () => {
    expect(nanoFromPico(picoFromNano(123))).toBe(123);
    expect(nanoFromPico(picoFromNano(123) + 1n)).toBe(124);
  });
});
