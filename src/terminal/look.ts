import type { Symbols } from './bars.ts';
import { type Palette, plain } from './palette.ts';
import type { TimeFormat } from './time.ts';

/** How the dashboard shows things: colours, signs, and the clocks of the configured zone. */
export interface Look {
  palette: Palette;
  symbols: Symbols;
  times: TimeFormat;
  timezone: string;
  /** What to type for gw here. */
  gw: string;
}

/** What marks a state, so that it reads without colour. */
export const MARKS = { bad: 'X', warn: '!', none: ' ' } as const;

export function styleOf(mark: string, { palette }: Pick<Look, 'palette'>): (text: string) => string {
  if (mark === MARKS.bad) return palette.bad;
  return mark === MARKS.warn ? palette.warn : plain;
}
