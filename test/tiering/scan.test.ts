import { expect, test } from 'vitest';
import { scan } from '../../src/tiering/scan.ts';

test('scan() counts what stands in a prompt', () => {
  const counts = scan('If x < 3, then why not 1,000.50?\n- \\frac{1}{2}\nA. yes\nB. No "way"');
  expect(counts).toMatchObject({
    words: 11,
    numbers: 4,
    condition: 4,
    negation: 2,
    commas: 1,
    latex: 1,
    operators: 1,
    options: 2,
  });
});

test('scan() takes letters of every script for words', () => {
  expect(scan('почему небо голубое').words).toBe(3);
  expect(scan('為什麼').words).toBe(1);
  expect(scan('').words).toBe(0);
});

test.each([
  ['A. yes', 1],
  ['(J) yes\n(a) no\n a. yes\n\tj.\tyes\nk. no\nA: no', 3],
  ['A.yes\n(A\n(', 0],
  ['- a\n* b\n• c\n12. d\n3) e\n-f\n1.5 g\n7', 0],
])('scan() counts how lines begin: %j', (text, options) => {
  expect(scan(text)).toMatchObject({ options });
});

test('scan() knows words whatever their capitals, and no other words', () => {
  expect(scan("IF if If iF IFF not NOT knot 'not' n0t not's python’s éif")).toMatchObject({
    condition: 6,
    negation: 2,
    code: 1,
  });
});

test('scan() reads nothing of the text before', () => {
  scan(`${'A. if '.repeat(20)}1,000`);
  expect(scan('(')).toMatchObject({ words: 0, options: 0 });
  expect(scan('1,')).toMatchObject({ numbers: 1, commas: 1, condition: 0 });
});
