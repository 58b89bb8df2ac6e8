const ESCAPE = String.fromCharCode(27);
const SIGNS = new RegExp(`${ESCAPE}\\[([\\d;]*)m|(.)`, 'gu');
/** A letter for each style that the dashboard uses, by the code that switches it on. */
const LETTERS: Readonly<Record<string, string>> = { 1: 'b', 2: 'd', 7: 'i', 31: 'r', 33: 'y', 36: 'c' };
/** The codes that switch styles off. */
const OFF: Readonly<Record<string, string>> = { 22: 'bd', 27: 'i', 39: 'ryc', 49: '' };

/**
 * A terminal's screen as text in which each line is followed by one of its styles: a letter below each character, a
 * capital for bold in a colour. It depends on what a person sees, and not on how the terminal writes it.
 */
export function styledText(screen: string): string {
  // tmux says what changes, also from one line to the next.
  let style = '';
  return screen
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      let text = ' ';
      let styles = '';
      for (const [, codes, character] of line.matchAll(SIGNS)) {
        if (character === undefined) style = applied(style, codes ?? '');
        else {
          text += character;
          styles += character === ' ' && !style.includes('i') ? ' ' : letterOf(style);
        }
      }
      return [text.trimEnd(), `|${styles}`.trimEnd()].filter((part, i) => i === 0 || part !== '|');
    })
    .join('\n');
}

function applied(before: string, codes: string): string {
  let style = before;
  for (const code of codes.split(';')) {
    if (code === '' || code === '0') style = '';
    else if (OFF[code] !== undefined)
      style = [...style].filter((letter) => !OFF[code]?.includes(letter)).join('');
    else if (LETTERS[code] !== undefined) style += LETTERS[code];
    else throw new Error(`a style that the dashboard does not use: ${code}`);
  }
  return style;
}

function letterOf(style: string): string {
  const colour = [...style].find((letter) => 'rycid'.includes(letter));
  if (colour === undefined) return style.includes('b') ? 'b' : ' ';
  return style.includes('b') ? colour.toUpperCase() : colour;
}
