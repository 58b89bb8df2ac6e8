/** Characters for bars, charts and rules. */
export interface Symbols {
  /** Fill levels of a cell, narrowest first. */
  cells: readonly string[];
  rest: string;
  /** Column heights in a cell, lowest first. */
  levels: readonly string[];
  /** Shades of a stacked bar, darkest first, so that its parts differ without colour. */
  shades: readonly string[];
  rule: string;
  ellipsis: string;
}

export const BLOCKS: Symbols = {
  cells: ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
  rest: '░',
  levels: ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
  shades: ['█', '▓', '▒', '░'],
  rule: '─',
  ellipsis: '…',
};

export const ASCII: Symbols = {
  cells: ['#'],
  rest: '.',
  levels: ['_', '.', '-', '=', '+', '*', '#'],
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

function clamp(share: number): number {
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 1;
}
