import type { Look } from './look.ts';
import { type Paint, plain } from './palette.ts';
import { clean, pad, shorten, widthOf } from './text.ts';

/** A part of a line. The functions below clean its text, which may be untrusted. */
export interface Cell {
  text: string;
  width: number;
  align?: 'left' | 'right';
  style?: Paint;
}

/** A line of cells, each padded or cut to its width, separated by spaces. */
export function lineOf(cells: readonly Cell[], look: Look): string {
  return cells
    .map(({ text, width, align = 'left', style = plain }) =>
      style(pad(shorten(clean(text), width, look.symbols.ellipsis), width, align)),
    )
    .join(' ');
}

export function textLine(text: string, width: number, look: Look, style = plain): string {
  return style(shorten(clean(text), width, look.symbols.ellipsis));
}

/** The title, and the labels of the columns below it. */
export interface Heading {
  title: string;
  labels?: string;
  focused?: boolean;
}

/** A heading on a rule. */
export function heading(
  { title, labels = '', focused = false }: Heading,
  width: number,
  { palette, symbols }: Look,
): string {
  const { rule, ellipsis } = symbols;
  const shown = shorten(title, width - 4, ellipsis);
  const start = `${rule} `;
  const rest = Math.max(0, width - widthOf(start) - widthOf(shown));
  const right = [...pad(labels, width).slice(width - rest)].map((character, i, all) => {
    const isGap = character === ' ' && (all[i - 1] ?? ' ') === ' ' && (all[i + 1] ?? ' ') === ' ';
    return isGap && i > 0 ? rule : character;
  });
  const name = focused ? palette.accent(palette.bold(shown)) : palette.bold(shown);
  return palette.dim(start) + name + palette.dim(right.join(''));
}
