import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createNumberHeap } from '../../src/tokens/number-heap.ts';

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
