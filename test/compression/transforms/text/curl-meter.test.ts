import { describe, expect, it } from 'vitest';
import { compress, type Level, type Message } from '../../../../src/compression/conversation/compress.ts';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import { restoreCopy } from '../../../../src/compression/repeats/near-copies.ts';
import { splitMeter } from '../../../../src/compression/transforms/text/curl-meter.ts';

const HEAD = [
  '  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current',
  '                                 Dload  Upload   Total   Spent    Left  Speed',
  '',
].join('\n');
const START = '  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0';
const HALF = ' 46 29.3M   46 13.6M    0     0  6841k      0  0:00:04  0:00:02  0:00:02 6842k';
const END = '100 29.3M  100 29.3M    0     0  6850k      0  0:00:04  0:00:04 --:--:-- 6851k';
const SMALL = '100   669    0   652  100    17   7037    183 --:--:-- --:--:-- --:--:--  7516';
const meter = (...rows: string[]) => `${HEAD}${rows.map((row) => `\r${row}`).join('')}\n`;

const TASK = 'Find out what the service at example.com answers, and mend our client by that, please. ';
const session = (results: readonly string[], asked = TASK): Message[] => [
  { role: 'user', content: asked + 'It must not lose the last field of a row. '.repeat(70) },
  ...results.flatMap((content, i): Message[] => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: `c${i}`, type: 'function', function: { name: 'bash', arguments: `{"command":"curl ${i}"}` } },
      ],
    },
    { role: 'tool', tool_call_id: `c${i}`, content },
  ]),
];
/** The results as they go out, for a conversation that is sent again with each. */
function sent(results: readonly string[], level: Level = 'balanced', asked?: string): string[] {
  const messages = session(results, asked);
  const out = compress(messages, { level }).messages;
  expect(compress(out, { level }).messages).toEqual(out);
  for (let end = 0; end < messages.length; end++)
    expect(compress(messages.slice(0, end), { level }).messages).toEqual(out.slice(0, end));
  return out.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
}

describe("curl's meter", () => {
  it('is left out of what came whole, but for the size', () => {
    expect(sent([`${meter(START, SMALL)}ready\n`])).toEqual(['[gw: curl received 652 bytes]\nready\n']);
    expect(sent([`${meter(START, HALF, END)}saved as a.iso`])).toEqual([
      '[gw: curl received 29.3M bytes]\nsaved as a.iso',
    ]);
    expect(sent([`${meter(START)}${SMALL}\r\nready`])).toEqual(['[gw: curl received 652 bytes]\nready']);
  });

  it('stays where it tells more than the rest', () => {
    const tail = 'curl: (18) transfer closed with 16457728 bytes remaining to read\n';
    for (const text of [
      `${meter(START, HALF)}${tail}`,
      `${meter(START)}curl: (6) Could not resolve host: example.com\n`,
      meter(START, END),
      `${meter(START, END)}\n`,
      `${HEAD}ready`,
      `${meter(START)}${SMALL} or so`,
    ])
      expect(splitMeter(text, undefined)).toBeUndefined();
    expect(sent([`${meter(START, HALF)}${tail}`])[0]).toContain('13.6M');
  });

  it('stays where someone asks how fast it was, at level safe, and in what a user pastes', () => {
    const text = `${meter(START, SMALL)}ready\n`;
    expect(splitMeter(text, readQuestion('Why is the download so slow?'))).toBeUndefined();
    expect(sent([text], 'balanced', `${TASK}How fast does it answer? `)[0]).toContain('7516');
    expect(sent([text], 'safe')[0]).toContain('7516');
    const paste: Message = {
      role: 'user',
      content: `${text}What is this?\n${'Tell me, please. '.repeat(150)}`,
    };
    expect(compress([paste], { level: 'balanced' }).messages[0]).toBe(paste);
  });

  it('leaves the lines behind it where later results find them, whether it was worth its mark or not', () => {
    for (const count of [60, 400]) {
      const lines = Array.from(
        { length: count },
        (_, i) => `<p id="p${i * 7919}">Field ${i * 104729} of it</p>`,
      );
      const first = `${meter(START, SMALL)}${lines.join('\n')}\n`;
      const others = [0, 1, count / 2, count - 1];
      const changed = lines.map((line, i) => (others.includes(i) ? `<p>${i}</p>` : line)).join('\n');
      const [before = '', after = ''] = sent([first, `${meter(START, SMALL)}${changed}\n`]);
      expect(before.startsWith('[gw: curl')).toBe(count === 60);
      const [mark, ...rest] = after.split('\n');
      expect(mark).toBe('[gw: curl received 652 bytes]');
      expect(rest.join('\n')).toContain('[gw: lines ');
      // A reader counts the lines of what went out.
      expect(restoreCopy(rest.join('\n'), before).trimEnd()).toBe(changed);
    }
  });

  it('hides no JSON behind it from the results that are like it', () => {
    const rows = Array.from({ length: 12 }, (_, i) => `"key_${i * 7919}":"value ${i * 104729}"`);
    const body = (state: string) =>
      `${meter(START, SMALL)}{"id":"job-81723","state":"${state}",${rows.join(',')}}\n`;
    const [, after = ''] = sent([body('queued'), body('done')]);
    expect(after).toContain('above but for]');
    expect(after).toContain('"queued" -> "done"');
  });

  it('takes no long time over what only starts like one', () => {
    const started = performance.now();
    for (const tail of [' '.repeat(1e6), '1 '.repeat(5e5), '\n'.repeat(1e6), `${START}\r`.repeat(1e4)])
      splitMeter(`${HEAD}${tail}`, undefined);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
