/** Characters for bars, charts and rules. */
export interface Symbols {
  /** Fill levels of a cell, narrowest first. */
  cells: readonly string[];
  rest: string;
  /** Column heights in a cell, lowest first. */
  levels: readonly string[];
  /** A dot at heights in a cell, lowest first. */
  dots: readonly string[];
  /** Shades of a stacked bar, darkest first, so that its parts differ without colour. */
  shades: readonly string[];
  rule: string;
  ellipsis: string;
}

export const BLOCKS: Symbols = {
  cells: ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
  rest: '░',
  levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  dots: ['⡀', '⠄', '⠂', '⠁'],
  shades: ['█', '▓', '▒', '░'],
  rule: '─',
  ellipsis: '…',
};

export const ASCII: Symbols = {
  cells: ['#'],
  rest: '.',
  levels: ['_', '.', '-', '=', '+', '*', '#'],
  dots: ['.', "'"],
  shades: ['#', '=', ':', '.'],
  rule: '-',
  ellipsis: '~',
};

/** A bar that fills `share` (0 to 1) of `width` cells. Any share above zero is visible. */
export function bar(share: number, width: number, { cells }: Symbols): string {
  const steps = cells.length;
  const filled = Math.min(width * steps, Math.round(clamp(share) * width * steps));
  const shown = share > 0 ? Math.max(1, filled) : 0;
  const part = shown % steps;
  return (
    (cells[steps - 1] ?? '').repeat(Math.floor(shown / steps)) + (part > 0 ? (cells[part - 1] ?? '') : '')
  );
}

/** A bar of `width` cells that also shows the unfilled part. It is full only at a share of 1. */
export function gauge(share: number, width: number, { cells, rest }: Symbols): string {
  const clamped = clamp(share);
  const filled = clamped >= 1 ? width : Math.min(width - 1, Math.round(clamped * width));
  const shown = clamped > 0 ? Math.max(1, filled) : 0;
  return (cells.at(-1) ?? '').repeat(shown) + rest.repeat(width - shown);
}

/**
 * Where a budget stands, in `width` cells: spent, held and what the forecast adds, each in a shade. What is above zero
 * is visible, and the bar is full of spend only at a share of 1.
 */
export function budgetBar(
  { spent, held, forecast }: { spent: number; held: number; forecast: number },
  width: number,
  { shades }: Symbols,
): string[] {
  const cellsOf = (share: number, room: number) =>
    share > 0 ? Math.min(room, Math.max(1, Math.round(share * width))) : 0;
  const first = spent >= 1 ? width : cellsOf(clamp(spent), width - 1);
  const second = cellsOf(clamp(held), width - first);
  const third = cellsOf(clamp(forecast), width - first - second);
  const lengths = [first, second, third, width - first - second - third];
  return lengths.map((length, i) => (shades[i] ?? '').repeat(length));
}

const clamp = (share: number): number => (Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 1);

/** A chart value; undefined for a time in the future. */
type Point = number | undefined;

/** A one-line chart. Any value above zero is drawn above the base line. */
export function sparkline(points: readonly Point[], { levels }: Symbols): string {
  const most = peakOf(points);
  return points.map((point) => levelOf(point, most, levels)).join('');
}

/** Fits points to a width: repeats each if there is room, otherwise merges neighbours into their maximum. */
export function fitPoints(points: readonly Point[], cells: number): Point[] {
  const times = Math.floor(cells / points.length);
  if (times >= 1) return points.flatMap((point) => Array.from({ length: times }, () => point));
  const size = Math.ceil(points.length / cells);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) => {
    const group = points.slice(i * size, (i + 1) * size).filter((point) => point !== undefined);
    return group.length > 0 ? Math.max(...group) : undefined;
  });
}

export function peakOf(points: readonly Point[]): number {
  return points.reduce((most: number, point) => Math.max(most, point ?? 0), 0);
}

function levelOf(point: Point, most: number, levels: readonly string[]): string {
  if (point === undefined) return ' ';
  if (point <= 0 || most <= 0) return levels[0] ?? '';
  return levels[Math.max(1, Math.ceil((point / most) * (levels.length - 1)))] ?? '';
}
