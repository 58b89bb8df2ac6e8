import { widthOf } from '../../../src/terminal/text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are control sequences
const SIGN = /\u001b\[(\??)([\d;]*)([A-Za-z])|([\s\S])/gu;

/** The part of a terminal that the dashboard writes to: cells, addressed by control sequences. Lines don't wrap. */
export function createEmulator(size: { columns: number; rows: number }) {
  let { columns, rows } = size;
  let cells: string[][] = [];
  let x = 0;
  let y = 0;
  const blank = (filling = ' ') =>
    Array.from({ length: rows }, () => Array.from({ length: columns }, () => filling));
  cells = blank();

  function control(letter: string, [first = 0, second = 0]: number[]): void {
    if (letter === 'H') [y, x] = [Math.max(1, first) - 1, Math.max(1, second) - 1];
    else if (letter === 'G') x = Math.max(1, first) - 1;
    else if (letter === 'K') cells[y]?.fill(' ', x);
    else if (letter === 'J') cells = blank();
    else if (!'mhl'.includes(letter)) throw new Error(`a sequence that is not known here: ${letter}`);
  }

  function put(character: string): void {
    if (character < ' ') throw new Error(`a control character: ${JSON.stringify(character)}`);
    const width = widthOf(character);
    const row = cells[y];
    if (!row) throw new Error(`written below the screen: row ${y} of ${rows}`);
    if (x + width > columns) throw new Error(`written beside the screen: column ${x} of ${columns}`);
    if (width === 0) {
      row[x - 1] += character;
      return;
    }
    row[x] = character;
    if (width === 2) row[x + 1] = '';
    x += width;
  }

  return {
    write(text: string): void {
      for (const [, isPrivate, values = '', letter, character] of text.matchAll(SIGN)) {
        if (character !== undefined) put(character);
        else if (letter && !isPrivate) control(letter, values.split(';').map(Number));
      }
    },
    /** A terminal fills a new size with what it had in any order. */
    resize(to: { columns: number; rows: number }): void {
      ({ columns, rows } = to);
      cells = blank('#');
    },
    lines: () => cells.map((row) => row.join('').trimEnd()),
  };
}
