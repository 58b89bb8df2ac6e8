import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scan } from '../../src/tiering/scan.ts';
import { promptText, scorePrompt } from '../../src/tiering/score.ts';

const score = (text: string) => scorePrompt([{ role: 'user', content: text }]);

describe('scorePrompt()', () => {
  test('is in [0,1] whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        const { score: value } = score(text);
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('puts code and mathematics above small talk and writing', () => {
    const code = score(
      'Implement a Python function that merges two sorted linked lists without recursion.',
    ).score;
    const maths = score('Prove that the polynomial $x^4 + 1$ has no rational roots.').score;
    const talk = score('What is a nice name for a cat?').score;
    const writing = score('Write a short poem about the sea in autumn.').score;
    expect(Math.min(code, maths)).toBeGreaterThan(Math.max(talk, writing));
  });

  test('rises with conditions and negations', () => {
    const plain = 'The train leaves in the morning and arrives at noon in the old town by the river.';
    const bound =
      'The train must not leave unless both doors are closed, except when the guard is not on it.';
    expect(score(bound).score).toBeGreaterThan(score(plain).score);
  });

  test('rises where quantities are compared, not where words are', () => {
    const steps = 'Ann has 3 boxes. Bob has 2 more than Ann, and Cid has twice as many as the rest.';
    const plain = 'Ann has 3 boxes. Bob has 2 red and green, and Cid has so very many of the red.';
    expect(score(steps).score).toBeGreaterThan(score(plain).score);
    const words = 'Nothing is more or less than the rest of it.';
    expect(score(words).score).toBe(score(words.replace('more', 'good')).score);
  });

  test('takes choosing among given answers for easier than producing one', () => {
    const question = 'Which organ makes insulin in the human body, and what happens when it fails?';
    const choice = `${question}\nA. the liver\nB. the pancreas\nC. the spleen`;
    expect(score(choice).score).toBeLessThan(score(question).score);
    expect(score(choice).why).toContain('choice');
  });

  test('is the same for the same text in capitals or without', () => {
    const text =
      'Explain, if you must, why the function is recursive and not a loop.\nA. It is\nB. It is not';
    expect(score(text.toUpperCase()).score).toBeCloseTo(score(text).score, 10);
    expect(score(text.toLowerCase()).score).toBeCloseTo(score(text).score, 10);
  });

  test('says why', () => {
    expect(score('Debug this Python function, please.').why).toEqual(['code', 'short']);
    expect(score('What is the area of a triangle with these angles?').why).toEqual(['maths', 'short']);
    expect(score('Summarize this email.').why).toEqual(['writing', 'short']);
  });

  test('reads the beginning and the end of a long text, and no more than 8,000 characters', () => {
    const middle = 'if unless not never '.repeat(5_000);
    const text = `${'plain words here. '.repeat(400)}${middle}${'plain words here. '.repeat(200)}`;
    expect(scan(text).condition).toBe(0);
  });
});

test('promptText() takes the last user turn', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'answer' },
    { role: 'user', content: 'second' },
    { role: 'assistant', content: null },
  ];
  expect(promptText(messages)).toBe('second');
});

test('promptText() joins text parts and passes over images', () => {
  const content = [
    { type: 'text', text: 'what is' },
    { type: 'image_url', image_url: { url: 'data:...' } },
    { type: 'text', text: 'this?' },
  ];
  expect(promptText([{ role: 'user', content }])).toBe('what is\nthis?');
});

test('promptText() is empty where there is no user turn or no text', () => {
  expect(promptText([])).toBe('');
  expect(promptText([{ role: 'user', content: 7 }])).toBe('');
});
