/** The signs that bars and marks are made of. */
export interface Symbols {
  /** From the narrowest to the full cell. */
  cells: readonly string[];
  rest: string;
  /** From nothing to the highest, for charts. */
  levels: readonly string[];
  /** For the parts of a whole, darkest first: told apart without colour. */
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

/** A bar as long as its share (0 to 1) of `width` cells; whatever is above nothing shows. */
export function bar(share: number, width: number, { cells }: Symbols): string {
  const steps = cells.length;
  const filled = Math.min(width * steps, Math.round(clamp(share) * width * steps));
  const least = share > 0 ? Math.max(1, filled) : 0;
  const part = least % steps;
  return (
    (cells[steps - 1] ?? '').repeat(Math.floor(least / steps)) + (part > 0 ? (cells[part - 1] ?? '') : '')
  );
}

/** A bar of `width` cells that shows what is left too. A bar is full only when its share is. */
export function gauge(share: number, width: number, { cells, rest }: Symbols): string {
  const clamped = clamp(share);
  const filled = clamped >= 1 ? width : Math.min(width - 1, Math.round(clamped * width));
  const shown = clamped > 0 ? Math.max(1, filled) : 0;
  return (cells.at(-1) ?? '').repeat(shown) + rest.repeat(width - shown);
}

function clamp(share: number): number {
  return Number.isFinite(share) ? Math.min(1, Math.max(0, share)) : 1;
}
