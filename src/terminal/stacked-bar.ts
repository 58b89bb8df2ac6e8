import { percent } from './numbers.ts';
import type { Terminal } from './terminal.ts';
import { clean, pad, shorten, widthOf } from './text.ts';

/** One part of a whole. */
export interface Part {
  name: string;
  value: number;
}

const GAP = '   ';
const MAX_CELLS = 72;

/**
 * A whole as one bar of its parts, largest first, and below it what each shade stands for. The parts beyond the shades
 * there are make one. Nothing where there is but one part.
 */
export function stackedBar(parts: readonly Part[], { columns, palette, symbols }: Terminal): string[] {
  const shown = fewest(parts, symbols.shades.length);
  if (shown.length < 2) return [];
  const total = shown.reduce((sum, { value }) => sum + value, 0);
  const cells = cellsOf(shown, total, Math.min(columns, MAX_CELLS));
  const bar = shown.map((_, i) => (symbols.shades[i] ?? '').repeat(cells[i] ?? 0)).join('');
  const entries = shown.map(
    ({ name, value }, i) => `${symbols.shades[i]} ${clean(name)} ${shareText(value / total)}`,
  );
  return [palette.accent(bar), ...legend(entries, columns, symbols.ellipsis).map(palette.dim)];
}

/** What has a shade is not nothing. */
function shareText(share: number): string {
  return share < 0.005 ? '<1%' : percent(share);
}

/** At most `most` parts: the smallest are put together. */
function fewest(parts: readonly Part[], most: number): Part[] {
  const sorted = parts.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most - 1);
  const value = rest.reduce((sum, part) => sum + part.value, 0);
  return [...sorted.slice(0, most - 1), { name: `${rest.length} others`, value }];
}

/** Whole cells that fill the width; each part has one at least. */
function cellsOf(parts: readonly Part[], total: number, width: number): number[] {
  let left = width;
  let rest = total;
  return parts.map(({ value }, i) => {
    const others = parts.length - 1 - i;
    const cells = Math.max(1, Math.min(left - others, Math.round((value / rest) * left)));
    left -= cells;
    rest -= value;
    return cells;
  });
}

/** On one line where it fits, else a line each. */
function legend(entries: readonly string[], columns: number, ellipsis: string): string[] {
  const line = entries.join(GAP);
  if (widthOf(line) <= columns) return [line];
  const width = Math.max(...entries.map(widthOf));
  const perLine = Math.max(1, Math.floor((columns + GAP.length) / (width + GAP.length)));
  return Array.from({ length: Math.ceil(entries.length / perLine) }, (_, i) =>
    entries
      .slice(i * perLine, (i + 1) * perLine)
      .map((entry) => pad(shorten(entry, columns, ellipsis), Math.min(width, columns)))
      .join(GAP)
      .trimEnd(),
  );
}
