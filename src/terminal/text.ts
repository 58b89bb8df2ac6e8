import { createRequire } from 'node:module';

/** Control characters, and the invisible ones that reorder or hide text. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes text that came from outside safe to print: one line, and escape sequences lose what makes them act. */
export function clean(text: string): string {
  return text.replace(UNSAFE, (match) => (/\s/.test(match) ? ' ' : ''));
}

/** What gw prints itself: a cell for each character. */
const NARROW = /^[\x20-\x7e\u2500\u2580-\u259f\u2026]*$/;

/** Width in terminal cells. string-width takes 40 ms to load, so it is loaded for the first text that needs it. */
export function widthOf(text: string): number {
  return NARROW.test(text) ? text.length : stringWidth()(text);
}

let loaded: ((text: string) => number) | undefined;

function stringWidth(): (text: string) => number {
  // An ES module, which Node's require takes since 20.19: an import could not wait until now.
  loaded ??= (createRequire(import.meta.url)('string-width') as { default: (text: string) => number })
    .default;
  return loaded;
}

/** Cuts text to `width` cells; the sign says that something is missing. */
export function shorten(text: string, width: number, ellipsis = '…'): string {
  if (widthOf(text) <= width) return text;
  let cut = '';
  let used = widthOf(ellipsis);
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    cut += character;
  }
  return width > 0 ? cut + ellipsis : '';
}

/** Pads text to `width` cells. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/** Text over as many lines as it takes, broken between words, or within one that is wider than a line. */
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
