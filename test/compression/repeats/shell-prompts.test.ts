import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress } from '../../../src/compression/conversation/compress.ts';
import {
  countFooter,
  footerOf,
  restoreFooter,
  splitFooter,
} from '../../../src/compression/repeats/shell-prompts.ts';

const line = fc.constantFrom(
  '(Open file: /work/project/src/long/path/reader.py)',
  '(Current directory: /work/project/src/long/path)',
  'bash-$',
  'root@host:/work#',
  '',
  'total 12',
  '[finished with exit code 0]',
);
const text = fc.array(line, { maxLength: 9 }).map((lines) => lines.join('\n'));

describe('a footer', () => {
  it('is restored from how the text before ended, for 10,000 pairs of texts', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const footer = footerOf(before);
        const count = countFooter(after, footer);
        if (count === 0 || footer === undefined) return;
        const { body, mark } = splitFooter(after, count);
        expect(restoreFooter(body + mark, footer)).toBe(after);
      }),
      { numRuns: 10_000 },
    );
  });

  const end =
    '(Open file: /work/project/src/long/path/reader.py)\n(Current directory: /work/project)\nbash-$';
  const shell = (printed: string) => ({ role: 'user', content: `${printed}\n${end}` });
  const answer = { role: 'assistant', content: 'Let us see what is in there. '.repeat(80) };

  it('of a shell is said once while it stays the same', () => {
    const messages = [shell('a first line'), answer, shell('a second line'), answer, shell('a third line')];
    const out = compress(messages, { level: 'safe' }).messages;
    expect(out.map((message) => message.content)).toEqual([
      messages[0]?.content,
      answer.content,
      'a second line\n[gw: last 3 lines as before]',
      answer.content,
      'a third line\n[gw: last 3 lines as before]',
    ]);
    expect(compress(out, { level: 'safe' }).messages).toEqual(out);
  });

  it.each([
    [
      "what a person ends with, without a shell's prompt",
      'Please answer in English,\nand keep it shorter than fifty words, as always.\nThanks, Ann',
    ],
    ['a short one', 'ok\nbash-$'],
  ])('is not %s', (_, same) => {
    const said = (words: string) => ({ role: 'user', content: `${words}\n${same}` });
    const messages = [said('one'), answer, said('two'), answer, said('three')];
    expect(compress(messages, { level: 'safe' }).messages).toEqual(messages);
  });

  it('stays where it is marked to be kept', () => {
    const kept = { role: 'user', content: `a second line\n<!-- gw:keep -->\n${end}` };
    const messages = [shell('a first line'), answer, kept];
    expect(compress(messages, { level: 'safe' }).messages).toEqual(messages);
  });
});
