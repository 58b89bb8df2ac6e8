import type { Symbols } from './bars.ts';
import { type Paint, type Palette, plain } from './palette.ts';
import type { TimeFormat } from './time.ts';

/** Display settings of the dashboard and `gw tail`: colours, symbols, and times in the configured zone. */
export interface Look {
  palette: Palette;
  symbols: Symbols;
  times: TimeFormat;
  timezone: string;
  /** The command that runs gw in this directory. */
  gw: string;
}

/** Marks show states without colour. */
export const MARKS = { bad: 'X', warn: '!', none: ' ' } as const;

export function styleOf(mark: string, { palette }: Pick<Look, 'palette'>): Paint {
  if (mark === MARKS.bad) return palette.bad;
  return mark === MARKS.warn ? palette.warn : plain;
}
