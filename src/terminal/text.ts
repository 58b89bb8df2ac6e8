import { createRequire } from 'node:module';
import { clean } from './clean.ts';

export { clean };

/** Characters that a terminal may interpret and JSON.stringify leaves unescaped: C1 controls and \p{Cf}. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON that is safe to print: escapes control characters, and characters that reorder or hide text. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, null, indent));
}

/** Like safeJson(), for text that already is JSON. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, (match) =>
    // Per UTF-16 code unit: a character above U+FFFF becomes two escaped surrogates.
    Array.from({ length: match.length }, (_, i) => unitEscape(match.charCodeAt(i))).join(''),
  );
}

const unitEscape = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Characters in gw's own output, each one cell wide. */
const NARROW = /^[\x20-\x7e\u2500\u2580-\u259f\u2026\u2800-\u28ff]*$/;

/** Width in terminal cells. string-width takes 40 ms to load, so it is loaded only for text with other characters. */
export const widthOf = (text: string): number => (NARROW.test(text) ? text.length : stringWidth()(text));

let loaded: ((text: string) => number) | undefined;

function stringWidth(): (text: string) => number {
  // Since 20.19, Node's require() loads ES modules. A lazy import() would make this function async.
  loaded ??= (createRequire(import.meta.url)('string-width') as { default: (text: string) => number })
    .default;
  return loaded;
}

/** What a person sees as characters: marks stay with their letters. */
function charactersOf(text: string): string[] {
  return NARROW.test(text)
    ? [...text]
    : Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/** Cuts text to `width` cells, including the ellipsis that marks the cut. */
export function shorten(text: string, width: number, ellipsis = '…'): string {
  if (widthOf(text) <= width) return text;
  let cut = '';
  let used = widthOf(ellipsis);
  for (const character of charactersOf(text)) {
    used += widthOf(character);
    if (used > width) break;
    cut += character;
  }
  return width > 0 ? cut + ellipsis : '';
}

/** Cuts the middle out of a text: names often differ in their ends, and an id is known by both. */
export function shortenMiddle(text: string, width: number, ellipsis = '…'): string {
  if (widthOf(text) <= width) return text;
  const tail = Math.floor((width - widthOf(ellipsis)) * 0.4);
  if (tail < 2) return shorten(text, width, ellipsis);
  let end = '';
  for (const character of charactersOf(text).reverse()) {
    if (widthOf(character + end) > tail) break;
    end = character + end;
  }
  return shorten(text, width - widthOf(end), ellipsis) + end;
}

/** Pads text to `width` cells. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/** Wraps text between words. Splits a word that is wider than a line. */
export function wrap(text: string, width: number): string[] {
  const whole = clean(text);
  if (widthOf(whole) <= width) return [whole];
  const lines = [''];
  for (const word of whole.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) lines.push('');
    const start = lines.at(-1) ?? '';
    lines[lines.length - 1] = start === '' ? word : `${start} ${word}`;
    while (widthOf(lines.at(-1) ?? '') > width) {
      const long = lines.pop() ?? '';
      const first = shorten(long, width, '');
      lines.push(first, long.slice(first.length));
    }
  }
  return lines;
}
