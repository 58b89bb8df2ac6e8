import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Layout, layoutOf, type PanelName } from '../../../src/tui/state/layout.ts';

const few = { asks: 0, budgets: 3, models: 2, callers: 2, blocked: 1, misses: 2, webhooks: 2 };

function panelsOf(layout: Layout): PanelName[] {
  return layout.kind === 'panels' ? layout.columns.flat().map(({ panel }) => panel) : [];
}

describe('layoutOf()', () => {
  test('has one column at 80x24, with the feed as its tallest panel', () => {
    const layout = layoutOf({ columns: 80, rows: 24 }, few);
    expect(panelsOf(layout)).toEqual(['today', 'budgets', 'requests', 'webhooks']);
    if (layout.kind !== 'panels') throw new Error('no panels');
    const [column = []] = layout.columns;
    expect(column.find(({ panel }) => panel === 'requests')?.height).toBe(11);
  });

  test('has two columns at 140x40, with the detail of a request', () => {
    const layout = layoutOf({ columns: 140, rows: 40 }, few);
    expect(panelsOf(layout)).toEqual([
      'today',
      'requests',
      'detail',
      'budgets',
      'models',
      'callers',
      'blocked',
      'misses',
      'webhooks',
    ]);
  });

  test('adds panels below the feed of a narrow but tall terminal', () => {
    expect(panelsOf(layoutOf({ columns: 80, rows: 50 }, few))).toEqual([
      'today',
      'budgets',
      'requests',
      'blocked',
      'models',
      'callers',
      'misses',
      'webhooks',
    ]);
  });

  test('shows what waits for an answer first, at every size', () => {
    for (const size of [
      { columns: 59, rows: 40 },
      { columns: 80, rows: 24 },
    ])
      expect(panelsOf(layoutOf(size, { ...few, asks: 1 }))[0]).toBe('asks');
    expect(panelsOf(layoutOf({ columns: 140, rows: 40 }, { ...few, asks: 9 }))[3]).toBe('asks');
  });

  test('shows only budgets below 60x15, and nothing below 40x8', () => {
    expect(panelsOf(layoutOf({ columns: 59, rows: 40 }, few))).toEqual(['budgets']);
    expect(panelsOf(layoutOf({ columns: 100, rows: 14 }, few))).toEqual(['budgets']);
    expect(layoutOf({ columns: 39, rows: 24 }, few)).toEqual({ kind: 'too_small' });
    expect(layoutOf({ columns: 80, rows: 7 }, few)).toEqual({ kind: 'too_small' });
  });

  test('fills the frame exactly, one line less than the terminal, for any content', () => {
    const counts = fc.record({
      asks: fc.nat(20),
      budgets: fc.nat(40),
      models: fc.nat(20),
      callers: fc.nat(20),
      blocked: fc.nat(20),
      misses: fc.nat(7),
      webhooks: fc.nat(20),
    });
    const size = fc.record({
      columns: fc.integer({ min: 40, max: 300 }),
      rows: fc.integer({ min: 8, max: 120 }),
    });
    fc.assert(
      fc.property(size, counts, (terminal, content) => {
        const layout = layoutOf(terminal, content);
        if (layout.kind !== 'panels') throw new Error('too small');
        expect(layout.height).toBe(terminal.rows - 1);
        const widths = layout.columns.map((boxes) => boxes[0]?.width ?? 0);
        expect(widths.reduce((sum, width) => sum + width, 0)).toBe(
          terminal.columns - (widths.length - 1) * layout.gap,
        );
        for (const boxes of layout.columns) {
          expect(boxes.reduce((sum, { height }) => sum + height, 0)).toBe(terminal.rows - 3);
          expect(Math.min(...boxes.map(({ height }) => height))).toBeGreaterThanOrEqual(2);
        }
      }),
    );
  });
});
