import { expect, test } from 'vitest';
import { seededRandom } from './random.ts';

test('the same seed gives the same bytes, another seed others', () => {
  const [a, b, c] = [seededRandom(1), seededRandom(1), seededRandom(2)];
  const bytes = a(100);
  expect(bytes).toHaveLength(100);
  expect(b(100)).toEqual(bytes);
  expect(c(100)).not.toEqual(bytes);
  expect(a(100)).not.toEqual(bytes);
});
