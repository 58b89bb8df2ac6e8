import { wayOf } from '../../../src/compression/repeats/near-copies.ts';

const LINES = /^\[gw: lines (\d+)-(\d+)(|, numbered from (?:\d+|".*")|, without numbers)\]$/;

/** Undoes `writeCopy`, given the earlier text. */
export function restoreCopy(text: string, earlier: string): string {
  const base = earlier.split('\n');
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, from, end, how] = LINES.exec(line) ?? [];
      if (from === undefined) return [line];
      return base.slice(Number(from) - 1, Number(end)).map(wayOf(how ?? ''));
    })
    .join('\n');
}
