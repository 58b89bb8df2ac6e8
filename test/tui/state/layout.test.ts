import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Counts, type Layout, layoutOf, type PanelName } from '../../../src/tui/state/layout.ts';

const few: Counts = {
  ...{
    asks: 0,
    budgets: 3,
    limits: 0,
    imported: 0,
    running: 2,
    refused: 1,
    models: 2,
    callers: 2,
    providers: 2,
    misses: 2,
    webhooks: 2,
  },
};
const none = Object.fromEntries(Object.keys(few).map((name) => [name, 0])) as Counts;

/** The panels of each column, from the top. */
function panelsOf(layout: Layout): PanelName[][] {
  return layout.kind === 'panels' ? layout.columns.map((boxes) => boxes.map(({ panel }) => panel)) : [];
}

describe('layoutOf()', () => {
  test('has one column at 80x24: money, what runs, what was refused, then the feed as the tallest', () => {
    const layout = layoutOf({ columns: 80, rows: 24 }, few);
    expect(panelsOf(layout)).toEqual([['budgets', 'running', 'refused', 'spend', 'requests']]);
    if (layout.kind !== 'panels') throw new Error('no panels');
    const heights = layout.columns.flat().map(({ height }) => height);
    expect(heights).toEqual([4, 3, 2, 3, 9]);
  });

  test('has two columns from 100x28 on, and three from 190x34 on', () => {
    expect(panelsOf(layoutOf({ columns: 120, rows: 36 }, few))).toEqual([
      ['budgets', 'running', 'refused', 'requests'],
      ['spend', 'models', 'callers', 'providers', 'misses', 'webhooks'],
    ]);
    expect(panelsOf(layoutOf({ columns: 200, rows: 50 }, few))).toEqual([
      ['budgets', 'running', 'refused', 'requests'],
      ['spend', 'models', 'callers'],
      ['providers', 'misses', 'webhooks', 'detail'],
    ]);
  });

  test('gives the room of panels with nothing to say away', () => {
    const layout = layoutOf({ columns: 200, rows: 50 }, none);
    expect(panelsOf(layout)).toEqual([['budgets', 'requests'], ['spend'], ['detail']]);
  });

  test('shows what waits for an answer first, at every size', () => {
    for (const [columns, rows] of [
      [59, 40],
      [80, 24],
      [140, 40],
      [250, 70],
    ] as const)
      expect(panelsOf(layoutOf({ columns, rows }, { ...few, asks: 9 }))[0]?.[0]).toBe('asks');
  });

  test('shows only money and what runs below 60x15, and nothing below 40x8', () => {
    expect(panelsOf(layoutOf({ columns: 59, rows: 40 }, few))).toEqual([['budgets', 'running']]);
    expect(panelsOf(layoutOf({ columns: 100, rows: 14 }, few))).toEqual([['budgets', 'running']]);
    expect(layoutOf({ columns: 39, rows: 24 }, few)).toEqual({ kind: 'too_small' });
    expect(layoutOf({ columns: 80, rows: 7 }, few)).toEqual({ kind: 'too_small' });
  });

  test('gives a zoomed panel everything between header and footer', () => {
    expect(layoutOf({ columns: 120, rows: 36 }, few, 'misses')).toMatchObject({
      columns: [[{ panel: 'misses', x: 0, y: 1, width: 120, height: 33 }]],
    });
  });

  test('fills the frame exactly, one line less than the terminal, for any content, and cuts nothing twice', () => {
    const counts = fc.record(
      Object.fromEntries(Object.keys(few).map((name) => [name, fc.nat(40)])) as Record<
        keyof Counts,
        fc.Arbitrary<number>
      >,
    );
    const size = fc.record({
      columns: fc.integer({ min: 40, max: 300 }),
      rows: fc.integer({ min: 8, max: 120 }),
    });
    fc.assert(
      fc.property(size, counts, (terminal, content) => {
        const layout = layoutOf(terminal, content);
        if (layout.kind !== 'panels') throw new Error('too small');
        expect(layout.height).toBe(terminal.rows - 1);
        let x = 0;
        for (const boxes of layout.columns) {
          let y = 1;
          for (const box of boxes) {
            expect([box.x, box.y]).toEqual([x, y]);
            expect(box.height).toBeGreaterThanOrEqual(2);
            y += box.height;
          }
          expect(y).toBe(terminal.rows - 2);
          x += (boxes[0]?.width ?? 0) + layout.gap;
        }
        expect(x - layout.gap).toBe(terminal.columns);
        const shown = layout.columns.flat().map(({ panel }) => panel);
        expect(shown).toContain('budgets');
        expect(new Set(shown).size).toBe(shown.length);
      }),
    );
  });
});
