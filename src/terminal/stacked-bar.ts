import { percent } from './numbers.ts';
import type { Terminal } from './terminal.ts';
import { clean, pad, shorten, widthOf } from './text.ts';

interface Part {
  name: string;
  value: number;
}

const GAP = '   ';
const MAX_CELLS = 72;

/**
 * A stacked bar of the parts, largest first, with a legend below. The smallest parts are merged if there are more parts
 * than shades. Empty if there are fewer than two parts.
 */
export function stackedBar(
  parts: readonly Part[],
  { columns, palette, symbols }: Omit<Terminal, 'textColumns'>,
): string[] {
  const merged = mergeSmallest(parts, symbols.shades.length);
  if (merged.length < 2) return [];
  const total = merged.reduce((sum, { value }) => sum + value, 0);
  const cells = cellsOf(merged, total, Math.min(columns, MAX_CELLS));
  const bar = merged.map((_, i) => (symbols.shades[i] ?? '').repeat(cells[i] ?? 0)).join('');
  const entries = merged.map(
    ({ name, value }, i) => `${symbols.shades[i]} ${clean(name)} ${shareText(value / total)}`,
  );
  return [palette.accent(bar), ...legend(entries, columns, symbols.ellipsis).map(palette.dim)];
}

/** Parts below 0.5% show as `<1%`, never as 0%. */
const shareText = (share: number): string => (share < 0.005 ? '<1%' : percent(share));

/** At most `limit` parts above zero, largest first. Merges the smallest ones. */
function mergeSmallest(parts: readonly Part[], limit: number): Part[] {
  const sorted = parts.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  if (sorted.length <= limit) return sorted;
  const rest = sorted.slice(limit - 1);
  const value = rest.reduce((sum, part) => sum + part.value, 0);
  return [...sorted.slice(0, limit - 1), { name: `${rest.length} others`, value }];
}

/** Cells per part. The parts fill the width; each gets at least one cell. */
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

/** The legend: on one line if it fits, otherwise in aligned columns. */
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
