import { describe, expect, it } from 'vitest';
import { compress } from '../../../src/compression/conversation/compress.ts';
import { endsWithPrompt } from '../../../src/compression/repeats/shell-prompts.ts';

describe('endsWithPrompt()', () => {
  it.each(['total 12\nbash-$', 'total 12\nroot@host:/work# ', '>', 'bash-$\n'])(
    'finds the prompt in %j',
    (text) => {
      expect(endsWithPrompt(text)).toBe(true);
    },
  );

  it.each(['', 'It costs 5 $', 'bash-$\nls\ntotal 12', 'Thanks, Ann', `${'x'.repeat(3000)}$`])(
    'finds none in %j',
    (text) => {
      expect(endsWithPrompt(text)).toBe(false);
    },
  );
});

describe('the end of a message', () => {
  const end =
    '(Open file: /work/project/src/long/path/reader.py)\n(Current directory: /work/project)\nbash-$';
  const shell = (printed: string) => ({ role: 'user', content: `${printed}\n${end}` });
  const answer = { role: 'assistant', content: 'Let us see what is in there. '.repeat(80) };

  it('is replaced where a shell printed it', () => {
    const messages = [shell('a first line'), answer, shell('a second line'), answer, shell('a third line')];
    const out = compress(messages, { level: 'safe' }).messages;
    const mark = '[gw: "(Open file: /work/projec…" and 2 more lines as before]';
    expect(out.map((message) => message.content)).toEqual([
      messages[0]?.content,
      answer.content,
      `a second line\n${mark}`,
      answer.content,
      `a third line\n${mark}`,
    ]);
    expect(compress(out, { level: 'safe' }).messages).toEqual(out);
  });

  it.each([
    [
      'no shell printed it',
      'Please answer in English,\nand keep it shorter than fifty words, as always.\nThanks, Ann',
    ],
    ['it is short', 'ok\nbash-$'],
  ])('stays where %s', (_, same) => {
    const say = (words: string) => ({ role: 'user', content: `${words}\n${same}` });
    const messages = [say('one'), answer, say('two'), answer, say('three')];
    expect(compress(messages, { level: 'safe' }).messages).toEqual(messages);
  });

  it('stays where it is marked to be kept', () => {
    const kept = { role: 'user', content: `a second line\n<!-- gw:keep -->\n${end}` };
    const messages = [shell('a first line'), answer, kept];
    expect(compress(messages, { level: 'safe' }).messages).toEqual(messages);
  });
});
