import { expect, test } from 'vitest';
import { usageCsv } from '../../../src/cli/commands/usage.ts';
import type { UsageView } from '../../../src/operations/schemas/usage.ts';

const firstCell = (model: string) => {
  const total = { requests: -1, cost_usd: -0.5 };
  const report = { group_by: 'model', total, data: [{ model, ...total }] } as unknown as UsageView;
  return usageCsv(report).split('\n')[1];
};

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-cmd', "'-cmd"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "' =1"],
  ['\rx', "' x"],
  ['\u200b=1', "'=1"],
  ['＝1', "'＝1"],
  ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ['openai/gpt-5', 'openai/gpt-5'],
])('a text cell that a spreadsheet takes for a formula begins with an apostrophe: %j', (model, cell) => {
  // Numbers stay numbers, even below zero.
  expect(firstCell(model)).toBe(`${cell},-1,-0.5`);
});
