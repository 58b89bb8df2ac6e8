/** Styles of all output. No state depends on colour alone or on telling red from green. */
export interface Palette {
  bold(text: string): string;
  dim(text: string): string;
  accent(text: string): string;
  warn(text: string): string;
  bad(text: string): string;
}

const CODES = { bold: [1, 22], dim: [2, 22], accent: [36, 39], warn: [33, 39], bad: [31, 39] } as const;

/** No style. */
export const plain = (text: string) => text;

export const PLAIN: Palette = { bold: plain, dim: plain, accent: plain, warn: plain, bad: plain };

export const COLOURED: Palette = {
  bold: paint(CODES.bold),
  dim: paint(CODES.dim),
  accent: paint(CODES.accent),
  warn: paint(CODES.warn),
  bad: paint(CODES.bad),
};

function paint([on, off]: readonly [number, number]): (text: string) => string {
  return (text) => (text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`);
}
