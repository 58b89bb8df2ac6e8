import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { areaChart, sumsBy } from '../../src/terminal/area-chart.ts';
import { ASCII, BLOCKS } from '../../src/terminal/bars.ts';
import { COLOURED, PLAIN } from '../../src/terminal/palette.ts';
import { widthOf } from '../../src/terminal/text.ts';

const LOOK = { palette: PLAIN, symbols: BLOCKS };

/** What a screen shows: text alone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
const bare = (line: string) => line.replaceAll(/\u001b\[[\d;]+m/g, '');

describe('areaChart()', () => {
  test('rises by eighths of a cell, and shows any spend', () => {
    const parts = [[0, 0.001, 1, 2, 3, 4]];
    expect(areaChart({ parts, cells: 6, height: 2, top: 4 }, LOOK)).toEqual(['    ▄█', ' ▁▄███']);
  });

  test('stacks its parts in shades where there are no colours', () => {
    const parts = [
      [1, 1],
      [1, 2],
    ];
    expect(areaChart({ parts, cells: 2, height: 4, top: 4 }, LOOK)).toEqual(['  ', ' ▓', '▓▓', '██']);
    const ascii = { palette: PLAIN, symbols: ASCII };
    expect(areaChart({ parts, cells: 2, height: 4, top: 4 }, ascii)).toEqual(['  ', ' =', '==', '##']);
  });

  test('shows the edge of two parts in one cell as two colours', () => {
    const parts = [[1], [1]];
    const [only = ''] = areaChart({ parts, cells: 1, height: 1, top: 2 }, { ...LOOK, palette: COLOURED });
    expect(only).toBe('\u001b[36;44m▄\u001b[39;49m');
  });

  test('draws lines where no area is, within its height', () => {
    const lines = [
      { values: [undefined, 1.6, 2], kind: 'dots' as const, style: PLAIN.dim },
      { values: [4, 4, 4], kind: 'level' as const, style: PLAIN.warn },
    ];
    expect(areaChart({ parts: [[1]], lines, cells: 3, height: 4, top: 4 }, LOOK)).toEqual([
      '───',
      '  ⡀',
      ' ⠂ ',
      '█  ',
    ]);
  });

  test('fills exactly its cells, higher for more, with and without colours', () => {
    const spend = fc.double({ min: 0, max: 1e12, noNaN: true });
    const parts = fc.array(fc.array(spend, { minLength: 5, maxLength: 5 }), { maxLength: 6 });
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 12 }), (values, height) => {
        const top = Math.max(
          1,
          ...[0, 1, 2, 3, 4].map((x) => values.reduce((sum, row) => sum + (row[x] ?? 0), 0)),
        );
        for (const palette of [PLAIN, COLOURED]) {
          const rows = areaChart({ parts: values, cells: 5, height, top }, { palette, symbols: BLOCKS });
          expect(rows.map((row) => widthOf(bare(row)))).toEqual(rows.map(() => 5));
          const heights = [0, 1, 2, 3, 4].map((x) => rows.filter((row) => [...bare(row)][x] !== ' ').length);
          const sums = [0, 1, 2, 3, 4].map((x) => values.reduce((sum, row) => sum + (row[x] ?? 0), 0));
          for (const a of [0, 1, 2, 3, 4])
            for (const b of [0, 1, 2, 3, 4])
              if ((sums[a] ?? 0) > (sums[b] ?? 0)) expect(heights[a]).toBeGreaterThanOrEqual(heights[b] ?? 0);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('sumsBy()', () => {
  test('rises within each period, reaches the total now, and ends there', () => {
    expect(sumsBy([2, 4, undefined, undefined], 8, 0.5)).toEqual([
      1,
      2,
      4,
      6,
      6,
      undefined,
      undefined,
      undefined,
    ]);
    // Half of the second hour is over: its spend is that of half an hour.
    expect(sumsBy([2, 4, undefined, undefined], 8, 0.375)).toEqual([1, 2, 6, 6, ...Array(4).fill(undefined)]);
  });
});
