import { expect, test } from 'vitest';
import { bytesAt } from '../../src/json/bytes.ts';

const WORD = Buffer.from('abc');

test.each([
  ['at the start', 'abcd', 0, true],
  ['at the end', 'xabc', 1, true],
  ['another', 'xabd', 1, false],
  ['cut off by the end', 'xab', 1, false],
  ['behind the end', 'x', 7, false],
  ['before the start', 'abc', -1, false],
])('bytesAt() finds a text %s', (_, text, start, found) => {
  expect(bytesAt(Buffer.from(text), start, WORD)).toBe(found);
});
