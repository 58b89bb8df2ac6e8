import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../src/compression/prompt/question.ts';
import type { Level, Scope } from '../../src/compression/transforms/scope.ts';
import { foldBlobs } from '../../src/compression/transforms/text/blobs.ts';
import { readHtml } from '../../src/compression/transforms/text/html.ts';
import { cleanTerminal } from '../../src/compression/transforms/text/terminal.ts';

const scope = (level: Level, words = 'What does it say?'): Scope => ({
  level,
  question: readQuestion(words),
  fromTool: true,
  keepKey: () => false,
  templateOf: () => undefined,
  leaveOut: () => {},
});

/** What a terminal's lines hold after a text of one-cell characters, backspaces and line feeds. */
function screenOf(text: string): string {
  const rows: string[] = [''];
  let column = 0;
  for (const character of text) {
    const row = rows.at(-1) ?? '';
    if (character === '\n') {
      rows.push('');
      column = 0;
    } else if (character === '\b') column -= column > 0 ? 1 : 0;
    else {
      rows[rows.length - 1] = row.slice(0, column) + character + row.slice(column + 1);
      column++;
    }
  }
  return rows.join('\n');
}

describe('cleanTerminal()', () => {
  it.each([
    ['colours', '\u001b[1;31merror\u001b[0m: no such file', 'error: no such file'],
    ['titles and links', '\u001b]0;title\u0007ok \u001b]8;;http://a\u001b\\link', 'ok link'],
    ['repainted lines', 'get 1%\rget 50%\rget 100%\ndone', 'get 100%\ndone'],
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

  it('shows after backspaces what a terminal shows', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'B', '7', '.', 'é', '\b', '\n'), maxLength: 40 });
    // Long runs of empty lines are shortened, which is another rule.
    const shown = (written: string) => screenOf(written).replace(/\n{4,}/g, '\n\n\n');
    const agrees = (clean: (text: string) => string) =>
      fc.property(text, (written) => {
        expect(clean(written)).toBe(shown(written));
      });
    fc.assert(
      agrees((written) => cleanTerminal(written, scope('safe'))),
      { numRuns: 2_000 },
    );
    // A rule that erases what stands before a backspace is caught.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a backspace
    const erasing = (written: string) => written.replace(/[^\n\b]\u0008/g, '');
    expect(fc.check(agrees(erasing), { numRuns: 2_000 }).failed).toBe(true);
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

describe('foldBlobs()', () => {
  const blob = Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 7919) % 251)).toString('base64');

  it('shows the start and length of base64', () => {
    const out = foldBlobs(`image: ${blob}.`, scope('balanced'));
    expect(out).toBe(`image: ${blob.slice(0, 24)}… [gw: base64, ${blob.length} characters].`);
  });

  it('leaves it at level safe, and leaves what only looks like it', () => {
    expect(foldBlobs(blob, scope('safe'))).toBe(blob);
    expect(foldBlobs('a'.repeat(900), scope('balanced'))).toBe('a'.repeat(900));
  });
});

describe('readHtml()', () => {
  const page =
    '<!DOCTYPE html><html><head><title>x</title><style>p{}</style></head><body><h1>Hours</h1><script>if (a<b) {}</script>' +
    '<p>Open <b>9&ndash;5</b> &amp; on Sunday.</p><!-- no --><table><tr><td>Mon </td><td>9</td></tr></table></body></html>';

  it('keeps the text of a page', () => {
    const out = readHtml(page, scope('balanced'));
    expect(out).toBe('[gw: the text of an HTML page]\n# Hours\nOpen 9&ndash;5 & on Sunday.\n| Mon | 9');
  });

  it('leaves a page whose markup is asked about, and every page at level safe', () => {
    expect(readHtml(page, scope('balanced', 'Which CSS class has the table?'))).toBe(page);
    expect(readHtml(page, scope('safe'))).toBe(page);
  });
});
