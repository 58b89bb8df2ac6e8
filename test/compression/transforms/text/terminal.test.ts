import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import type { Level, Scope } from '../../../../src/compression/transforms/scope.ts';
import { cleanTerminal } from '../../../../src/compression/transforms/text/terminal.ts';

const scope = (level: Level, words = 'What does it say?'): Scope => ({
  level,
  question: readQuestion(words),
  fromTool: true,
  keepKey: () => false,
  leaveOut: () => {},
});

/** What a terminal's lines hold after a text of one-cell characters, moves, erasures and colours; endlessly wide. */
function screenOf(text: string): string {
  const rows: string[][] = [[]];
  let y = 0;
  let x = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
  for (const [piece, count, letter] of text.matchAll(/\u001b\[(\d*)([A-DGKm])|[^\u001b]/g)) {
    rows[y] ??= [];
    const row = rows[y] ?? [];
    const n = Math.max(1, Number(count));
    if (piece === '\n') {
      y++;
      x = 0;
    } else if (piece === '\r') x = 0;
    else if (piece === '\b') x = Math.max(0, x - 1);
    else if (letter === 'A') y = Math.max(0, y - n);
    else if (letter === 'B') y += n;
    else if (letter === 'C') x += n;
    else if (letter === 'D') x = Math.max(0, x - n);
    else if (letter === 'G') x = n - 1;
    else if (letter === 'K') {
      const part = Number(count);
      for (let at = part === 0 ? x : 0; at < (part === 1 ? x + 1 : row.length); at++) row[at] = ' ';
    } else if (letter === undefined) row[x++] = piece;
  }
  return Array.from(rows, (row) =>
    Array.from(row ?? [], (cell) => cell ?? ' ')
      .join('')
      .trimEnd(),
  )
    .join('\n')
    .trimEnd();
}

describe('cleanTerminal()', () => {
  it.each([
    ['colours', '\u001b[1;31merror\u001b[0m: no such file', 'error: no such file'],
    ['titles and links', '\u001b]0;title\u0007ok \u001b]8;;http://a\u001b\\link', 'ok link'],
    ['repainted lines', 'get 1%\rget 50%\rget 100%\ndone', 'get 100%\ndone'],
    ['what a shorter paint leaves of a longer one', 'get 100%\rget 9%\n', 'get 9%0%\n'],
    ['backspaces before a carriage return', 'x37\b\r\nN\bNO\bO\r\n', 'x37\r\nNO\r\n'],
    ['moves to the left', 'value 37\u001b[1D9, 12\u001b[2D4', 'value 39, 42'],
    ['erased lines', 'loading 10%\r\u001b[Kdone\nabc\u001b[2K\rxy', 'done\nxy'],
    ['the rest of a line', 'abcdef\u001b[3D\u001b[K', 'abc'],
    ['overstrikes', 'b\bbo\bol\bld\bd', 'bold'],
    ['nothing before a backspace that nothing is written over', 'value1 = x37\b\nnext', 'value1 = x37\nnext'],
    ['what is written over, and no more', '12340\b\b\bnext0', '12next0'],
    ['a spinner', 'wait |\b/\b-\b\\\b done', 'wait  done'],
    ['what is written over in part', 'abcdef\b\b\b\bX', 'abXdef'],
    ['backspaces at the start of a line', '\b\ba\n\bb', 'a\nb'],
    ['padding and empty stretches', 'a   \n\n\n\n\n\nb\t', 'a\n\n\nb'],
  ])('takes out %s', (_, text, shown) => {
    expect(cleanTerminal(text, scope('safe'))).toBe(shown);
  });

  it.each([
    ['numbers that carriage returns part', '123456\r9\n10,20\r30,40\n'],
    ['moves across lines', 'n = 10  \n\u001b[1An = 20'],
    ['moves that only make room', 'a\u001b[40Cb'],
    ['saved places of the cursor', 'a\u001b7b\u001b8c'],
    ['line drawing', '\u001b(0lqk'],
    ['moves over wide characters', '漢字\u001b[2Dab'],
    ['backspaces over wide characters', '漢字\b\bab'],
    ['backspaces over combining marks', 'e\u0301\bx'],
    ['backspaces over tabs', 'a\tb\b\bc'],
    ['lines that end in carriage returns', 'first\rsecond line\rthird\r'],
    ['lines that end in two and a line feed', 'first\r\r\nsecond line\r\r\n'],
    ['both in turn', 'a one\r\nb two\rc three\n\rd four'],
    ['words that a carriage return parts', 'left column\rright column, longer\n'],
  ])('leaves %s', (_, text) => {
    expect(cleanTerminal(text, scope('safe'))).toBe(text);
  });

  it('shows what a terminal shows', () => {
    const inLine = ['\b', '\r', ...['K', '1K', '2K', 'D', '2C', '3G', '31m'].map((end) => `\u001b[${end}`)];
    const text = fc.oneof(
      ...[inLine, ['\b'], ['\r'], ['\r', '\b'], [...inLine, '\u001b[A', '\u001b[B']].map((controls) =>
        fc.string({ unit: fc.constantFrom('a', 'B', '7', '%', ' ', 'é', '\n', ...controls), maxLength: 30 }),
      ),
    );
    // Long runs of empty lines are shortened, which is another rule.
    const shown = (written: string) => screenOf(written).replace(/\n{4,}/g, '\n\n\n');
    const agrees = (clean: (text: string) => string) =>
      fc.property(text, (written) => {
        expect(shown(clean(written))).toBe(shown(written));
      });
    fc.assert(
      agrees((written) => cleanTerminal(written, scope('safe'))),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000 },
    );
    const broken: [string, (written: string) => string][] = [
      // biome-ignore lint/suspicious/noControlCharactersInRegex: a backspace
      ['a backspace erases', (written) => written.replace(/[^\n\b]\u0008/g, '')],
      ['the last paint is all', (written) => written.replace(/[^\n\r]*\r(?=[^\n\r])/g, '')],
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
      ['moves are dropped', (written) => written.replace(/\u001b\[\d*[A-DG]/g, '')],
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
      ['erasures are dropped', (written) => written.replace(/\u001b\[\d*K/g, '')],
    ];
    for (const [, clean] of broken) expect(fc.check(agrees(clean), { numRuns: 5_000 }).failed).toBe(true);
  });

  it('loses no word, whatever the line ends', () => {
    const word = fc.stringMatching(/^[a-zäöü漢字]{1,6}$/u);
    const end = fc.constantFrom(
      '\n',
      '\r',
      '\r\n',
      '\r\r\n',
      '\n\r',
      '\u2028',
      '\u0085',
      ' ',
      '\t',
      '\f',
      '',
    );
    const text = fc.array(fc.tuple(fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), end));
    fc.assert(
      fc.property(text, (lines) => {
        const written = lines.map(([words, end], i) => `${words.join(' ')}${'x'.repeat(i)}${end}`).join('');
        const shown = cleanTerminal(written, scope('safe'));
        expect(shown.match(/\S+/g)).toEqual(written.match(/\S+/g));
      }),
      { numRuns: Number(process.env.GW_FUZZ_RUNS ?? 2000) },
    );
  });

  it('leaves line ends of Windows as they are', () => {
    expect(cleanTerminal('a\r\nb\r\n\r\n', scope('safe'))).toBe('a\r\nb\r\n\r\n');
  });
});

it("cleanTerminal() leaves a user's own white space", () => {
  const text = 'a   \n\n\n\n\n  - b\t';
  expect(cleanTerminal(text, { ...scope('safe'), fromTool: false })).toBe(text);
});
