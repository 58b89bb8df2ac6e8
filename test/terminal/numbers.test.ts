import { expect, test } from 'vitest';
import { bytes, percent, plural, tokens } from '../../src/terminal/numbers.ts';

test.each([
  [0, '0'],
  [99_999, '99,999'],
  [100_000, '100k'],
  [999_499, '999k'],
  [999_500, '1.00M'],
  [1_236_000, '1.24M'],
  [12_340_000, '12.3M'],
  [999_600_000, '1.00B'],
])('tokens(%i) is %s', (value, text) => {
  expect(tokens(value)).toBe(text);
});

test('percent() shows 100% only when it is reached', () => {
  expect(percent(0.999)).toBe('99%');
  expect(percent(1)).toBe('100%');
  expect(percent(16.47)).toBe('1647%');
  expect(percent(Number.NaN)).toBe('100%');
});

test('plural() and bytes() format units', () => {
  expect([plural(1, 'request'), plural(1_200, 'request')]).toEqual(['1 request', '1,200 requests']);
  expect([bytes(999), bytes(98_304), bytes(3_200_000_000)]).toEqual(['999 B', '98.3 kB', '3.2 GB']);
});
