const ESCAPE = String.fromCharCode(27);
const SIGNS = new RegExp(`${ESCAPE}\\[([\\d;]*)m|(.)`, 'gu');
/** The codes that switch styles off, and what they end. */
const OFF: Readonly<Record<string, RegExp>> = {
  22: /^[12]$/,
  27: /^7$/,
  39: /^(3[0-8]|9\d)/,
  49: /^(4[0-8]|10\d)/,
};

export interface StyledText {
  /** Each line of the screen, followed by one with a letter for the style of each character. */
  screen: string;
  /** The codes of each letter, in the order in which they appear. */
  legend: string;
}

/** A terminal's screen as text. It depends on what a person sees, and not on how the terminal writes it. */
export function styledText(coloured: string): StyledText {
  // tmux says what changes, also from one line to the next.
  let style: readonly string[] = [];
  const letters = new Map<string, string>([['', ' ']]);
  const letterOf = () => {
    const name = [...style].sort().join(' ');
    const letter = letters.get(name) ?? String.fromCharCode(96 + letters.size);
    letters.set(name, letter);
    return letter;
  };
  const screen = coloured
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      let text = ' ';
      let styles = '';
      for (const [, codes, character] of line.matchAll(SIGNS)) {
        if (character === undefined) style = applied(style, codes ?? '');
        else {
          text += character;
          const isSeen = character !== ' ' || style.some((code) => code === '7' || OFF[49]?.test(code));
          styles += isSeen ? letterOf() : ' ';
        }
      }
      return [text.trimEnd(), `|${styles}`.trimEnd()].filter((part, i) => i === 0 || part !== '|');
    })
    .join('\n');
  const legend = [...letters].slice(1).map(([name, letter]) => `${letter} ${name}`);
  return { screen, legend: legend.join('\n') };
}

function applied(before: readonly string[], codes: string): readonly string[] {
  let style = before;
  for (const code of codes.match(/[34]8;(?:5;\d+|2;\d+;\d+;\d+)|\d+/g) ?? ['0']) {
    const off = OFF[code];
    if (code === '0') style = [];
    else if (off) style = style.filter((each) => !off.test(each));
    else {
      const kind = [OFF[39], OFF[49]].find((each) => each?.test(code));
      style = [...style.filter((each) => !kind?.test(each) && each !== code), code];
    }
  }
  return style;
}
