import { expect, test } from 'vitest';
import { describeExcess } from '../../../src/store/budgets/distrusted-bounds.ts';

test.each([
  ['output', 'wrote more output than its limit allowed'],
  ['maximum', 'wrote more output than the maximum that is listed for it'],
  ['code', 'read more than its rounds of code were held to add to the prompt'],
  ['free', 'reported a cost, although its provider should not bill it'],
  ['price x1.4', 'cost more than the price that was held'],
  ['edit', 'reported more input than the edit bound allowed'],
])('a model that passed the bound %s %s', (bound, what) => expect(describeExcess(bound)).toBe(what));
