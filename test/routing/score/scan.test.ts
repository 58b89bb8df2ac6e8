import { expect, test } from 'vitest';
import { scan } from '../../../src/routing/score/scan.ts';

test('scan() counts what stands in a prompt', () => {
  const counts = scan('If x < 3, then why not 1,000.50?\n- \\frac{1}{2}\nA. yes\nB. No "way"');
  expect(counts).toMatchObject({
    words: 11,
    numbers: 4,
    condition: 4,
    negation: 2,
    commas: 1,
    questions: 1,
    lines: 4,
    latex: 1,
    operators: 1,
    brackets: 4,
    quotes: 2,
    options: 2,
    listItems: 1,
  });
});

test('scan() takes letters of every script for words', () => {
  expect(scan('почему небо голубое').words).toBe(3);
  expect(scan('為什麼').words).toBe(1);
  expect(scan('').words).toBe(0);
});
