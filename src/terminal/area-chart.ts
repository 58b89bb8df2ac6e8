import type { Symbols } from './bars.ts';
import type { Look } from './look.ts';
import type { Paint } from './palette.ts';

/** A line across a chart. `values` has one a cell; undefined leaves the cell alone. */
export interface ChartLine {
  values: readonly (number | undefined)[];
  kind: 'level' | 'dots';
  style: Paint;
}

interface AreaChart {
  /** Values of each part, one a cell, the part at the bottom first; undefined where there is nothing yet. */
  parts: readonly (readonly (number | undefined)[])[];
  /** Drawn where no area is. */
  lines?: readonly ChartLine[];
  cells: number;
  height: number;
  /** The value at the upper edge. */
  top: number;
}

/** A stacked area as lines, the top one first. */
export function areaChart(chart: AreaChart, look: Pick<Look, 'palette' | 'symbols'>): string[] {
  const columns = Array.from({ length: chart.cells }, (_, x) => edgesOf(chart, x));
  return Array.from({ length: chart.height }, (_, i) => {
    const row = chart.height - 1 - i;
    return columns
      .map((edges, x) => areaCell(edges, row, look) ?? lineCell(chart, x, row, look.symbols) ?? ' ')
      .join('');
  });
}

/** Where each part ends, in cells from the bottom. */
function edgesOf({ parts, height, top }: AreaChart, x: number): number[] {
  let sum = 0;
  return parts.map((part) => {
    sum += part[x] ?? 0;
    return top > 0 ? (sum / top) * height : 0;
  });
}

/** The cell of a row, or undefined if no area reaches it. */
function areaCell(
  edges: readonly number[],
  row: number,
  { palette, symbols }: Pick<Look, 'palette' | 'symbols'>,
): string | undefined {
  const { levels, shades } = symbols;
  const total = edges.at(-1) ?? 0;
  const reached = Math.min(1, total - row);
  // Any spend is seen at the bottom.
  const level = Math.max(row === 0 && total > 0 ? 1 : 0, Math.round(reached * levels.length));
  if (level <= 0) return undefined;
  const lower = partAt(edges, row);
  if (!palette.part) {
    if (edges.length === 1) return levels[level - 1];
    return reached >= 0.5 || row === 0 ? shades[Math.min(lower, shades.length - 1)] : undefined;
  }
  const edge = Math.round(((edges[lower] ?? 0) - row) * levels.length);
  const text = levels[level - 1] ?? '';
  if (edge <= 0 || edge >= level) return palette.part(text, lower);
  const upper = partAt(edges, row + edge / levels.length);
  // A cell has two colours. Where the area ends in it as well, the larger part takes it all.
  if (level < levels.length) return palette.part(text, edge * 2 >= level ? lower : upper);
  return palette.part(levels[edge - 1] ?? '', lower, upper);
}

/** The part just above a height. */
function partAt(edges: readonly number[], height: number): number {
  const at = edges.findIndex((edge) => edge > height + 1e-9);
  return at < 0 ? edges.length - 1 : at;
}

function lineCell(
  { lines = [], height, top }: AreaChart,
  x: number,
  row: number,
  symbols: Symbols,
): string | undefined {
  for (const { values, kind, style } of lines) {
    const value = values[x];
    if (value === undefined || top <= 0) continue;
    const at = Math.min(height - 0.001, (value / top) * height);
    if (Math.floor(at) !== row || value > top) continue;
    if (kind === 'level') return style(symbols.rule);
    return style(symbols.dots[Math.floor((at - row) * symbols.dots.length)] ?? '');
  }
  return undefined;
}

/** Sums of the values up to each cell, as a line through the ends of their periods; undefined after `until` (0 to 1). */
export function sumsBy(
  values: readonly (number | undefined)[],
  cells: number,
  until: number,
): (number | undefined)[] {
  const ends: number[] = [0];
  for (const value of values) ends.push((ends.at(-1) ?? 0) + (value ?? 0));
  const running = until * values.length;
  return Array.from({ length: cells }, (_, x) => {
    const at = ((x + 1) / cells) * values.length;
    // The cell of now shows all that is spent.
    if ((x / cells) * values.length > running) return undefined;
    if (at >= running) return ends.at(-1);
    const period = Math.floor(at);
    const length = Math.min(1, running - period);
    const share = length > 0 ? Math.min(1, (at - period) / length) : 1;
    return (ends[period] ?? 0) + share * (values[period] ?? 0);
  });
}
