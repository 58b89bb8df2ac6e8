import { expect, onTestFinished, test } from 'vitest';
import { mutantsOf, withSwitches } from './mutate.mjs';

const SOURCE = `import { a } from './a.ts';
type Size = 1 | 2;
export function room(cap: number, held: number, isOpen = true): number {
  if (cap <= held && kind === 'total') notify();
  return isOpen ? cap - held : 0;
}
const text = 'more' + cap;
const none = () => {
  return undefined;
};
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
    '4: notify() > undefined',
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

test('all mutants stand in one source, and one of them at a time is in force', () => {
  const source = 'const left = isOpen && held > 0 ? cap - held : cap;';
  const mutants = mutantsOf(source).map((mutant, number) => ({ ...mutant, number }));
  const run = new Function(
    'mutant',
    'isOpen',
    'held',
    'cap',
    `${withSwitches(source, mutants)} return left;`,
  );
  const left = (inForce: number | undefined, ...values: [boolean, number, number]) => {
    const reached: number[] = [];
    Object.assign(globalThis, { mutant: (number: number) => reached.push(number) && number === inForce });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'mutant'));
    return [run(undefined, ...values), reached.length];
  };
  expect(mutants.map(({ to }) => to)).toEqual(['false', 'true', '||', '>=', '+']);
  expect(left(undefined, true, 2, 10)).toEqual([8, 5]);
  // What is not reached is not tried.
  expect(left(undefined, false, 2, 10)).toEqual([10, 3]);
  const changed = mutants.map(({ number }) => left(number, true, 2, 10)[0]);
  expect(changed).toEqual([10, 8, 8, 8, 12]);
  expect(left(1, false, 2, 10)[0]).toBe(8);
  expect(left(2, false, 2, 10)[0]).toBe(8);
  expect(left(3, true, 0, 10)[0]).toBe(10);
});
