import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatUsd, MAX_AMOUNT_NANO_USD, parseUsd, usdNumber } from '../src/money.ts';

describe('parseUsd()', () => {
  test.each([
    ['20', 20_000_000_000],
    ['$0.5', 500_000_000],
    [' 3.141592653 ', 3_141_592_653],
    ['0.000000001', 1],
    ['0', 0],
    ['1,234.5', 1_234_500_000_000],
    ['$1,000,000', MAX_AMOUNT_NANO_USD],
  ])('reads %j', (text, amount) => expect(parseUsd(text)).toBe(amount));

  test.each([
    ['', 'nothing'],
    ['-1', 'a debt'],
    ['1.0000000001', 'less than a nano-dollar'],
    ['1000000.000000001', 'more than the most'],
    ['1e3', 'an exponent'],
    ['.5', 'no whole dollars'],
    ['5.', 'a point alone'],
    ['1,5', 'a decimal comma, which is not a thousand'],
    ['1,,000', 'commas out of place'],
    ['0.1,000', 'a comma after the point'],
    ['$ 5', 'a space inside'],
    ['NaN', 'words'],
  ])('finds no amount in %j: %s', (text) => expect(parseUsd(text)).toBeUndefined());

  test('reads back every amount that is shown as a number', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_AMOUNT_NANO_USD }), (amount) => {
        expect(parseUsd(usdNumber(amount).toFixed(9))).toBe(amount);
      }),
    );
  });
});

describe('usdNumber()', () => {
  test('has at most nine places', () => {
    expect(usdNumber(1)).toBe(1e-9);
    expect(usdNumber(100_000_000 + 200_000_000)).toBe(0.3);
    expect(JSON.stringify(usdNumber(999_999_999_999_999))).toBe('999999.999999999');
    expect(usdNumber(-1_500_000_000)).toBe(-1.5);
    expect(usdNumber(1 / 3)).toBe(0);
    expect(usdNumber(1_234_567_890.6)).toBe(1.234567891);
  });

  test('is the number that the decimal reads as', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (amount) => {
        const digits = String(amount).padStart(10, '0');
        expect(usdNumber(amount)).toBe(Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`));
      }),
    );
  });
});

describe('formatUsd()', () => {
  test.each([
    [0, '$0.00'],
    [1_234_560_000_000, '$1,234.56'],
    [20_000_000_000, '$20.00'],
    [10_000_000, '$0.01'],
    [123_400_000, '$0.1234'],
    [9_900_000, '$0.0099'],
    [1_230, '$0.0000012'],
    [1, '$0.000000001'],
    [-5_000_000_000, '-$5.00'],
  ])('shows %d as %s', (amount, text) => expect(formatUsd(amount)).toBe(text));

  test('never shows an amount as nothing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_AMOUNT_NANO_USD }), (amount) => {
        expect(formatUsd(amount)).toMatch(/[1-9]/);
      }),
    );
  });
});
