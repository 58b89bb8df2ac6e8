import { expect, test } from 'vitest';
import { mutantsOf } from './mutate.mjs';

const SOURCE = `import { a } from './a.ts';
type Size = 1 | 2;
export function room(cap: number, held: number, isOpen = true): number {
  if (cap <= held && kind === 'total') notify();
  return isOpen ? cap - held : 0;
}
const text = 'more' + cap;
`;

test('a source has a mutant for each operator, condition, flag, call and result, and none in types and texts', () => {
  const mutants = mutantsOf(SOURCE).map(
    ({ start, end, to, line }) => `${line}: ${SOURCE.slice(start, end)} > ${to}`,
  );
  expect(mutants).toEqual([
    '3: true > false',
    "4: cap <= held && kind === 'total' > false",
    "4: cap <= held && kind === 'total' > true",
    '4: <= > <',
    '4: && > ||',
    '4: === > !==',
    '4: notify(); > ;',
    '5: isOpen > false',
    '5: isOpen > true',
    '5: isOpen ? cap - held : 0 > undefined',
    '5: - > +',
  ]);
});

test('a mutant that is applied can be read again', () => {
  for (const { start, end, to } of mutantsOf(SOURCE))
    expect(() => mutantsOf(SOURCE.slice(0, start) + to + SOURCE.slice(end))).not.toThrow();
});
