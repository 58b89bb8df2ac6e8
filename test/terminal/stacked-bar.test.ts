import { describe, expect, test } from 'vitest';
import { ASCII, BLOCKS } from '../../src/terminal/bars.ts';
import { PLAIN } from '../../src/terminal/palette.ts';
import { stackedBar } from '../../src/terminal/stacked-bar.ts';
import { widthOf } from '../../src/terminal/text.ts';

const at = (columns: number, symbols = BLOCKS) => ({ columns, palette: PLAIN, symbols });

describe('stackedBar()', () => {
  test('draws the largest part first, with a legend', () => {
    const parts = [
      { name: 'small', value: 1 },
      { name: 'large', value: 3 },
    ];
    expect(stackedBar(parts, at(40))).toEqual([
      `${'█'.repeat(30)}${'▓'.repeat(10)}`,
      '█ large 75%   ▓ small 25%',
    ]);
    expect(stackedBar(parts, at(40, ASCII))[1]).toBe('# large 75%   = small 25%');
  });

  test('shows even the smallest part, and merges parts that have no shade', () => {
    const parts = [1_000_000, 1, 1, 1, 1].map((value, i) => ({ name: `m${i}`, value }));
    const [bar = '', ...legend] = stackedBar(parts, at(80));
    expect(bar).toBe(`${'█'.repeat(69)}▓▒░`);
    expect(legend).toEqual(['█ m0 99%   ▓ m1 <1%   ▒ m2 <1%   ░ 2 others <1%']);
  });

  test.each([40, 60, 80, 200])('is at most %i cells wide', (columns) => {
    const parts = ['a'.repeat(60), 'provider/模型', 'c\u001b[31m', 'd', 'e'].map((name, i) => ({
      name,
      value: i + 1,
    }));
    for (const line of stackedBar(parts, at(columns))) {
      expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(line).not.toContain('\u001b');
    }
  });

  test('is empty for fewer than two parts', () => {
    expect(stackedBar([], at(80))).toEqual([]);
    expect(
      stackedBar(
        [
          { name: 'a', value: 1 },
          { name: 'b', value: 0 },
        ],
        at(80),
      ),
    ).toEqual([]);
  });
});
