import { expect, test } from 'vitest';
import { createItemMemories } from '../../../src/translation/carry/item-memory.ts';

test('drops the oldest items beyond its size', () => {
  const small = createItemMemories(100)(1);
  for (const id of ['a', 'b', 'c']) small.remember({ id, text: 'x'.repeat(20) });
  expect([small.recall('a'), small.recall('c')]).toEqual([undefined, { id: 'c', text: 'x'.repeat(20) }]);
});
