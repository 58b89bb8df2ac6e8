import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress } from '../../../../src/compression/conversation/compress.ts';
import { restoreChat, shortenChat } from '../../../../src/compression/transforms/chat/chat.ts';

const pad = (n: number) => String(n).padStart(2, '0');
const said = [
  'I finally started the pottery class and made a mess.',
  'We went to the lake: it rained at 15:00 sharp.',
  'Did they call you back? "No," he said.',
  'ok',
];
const people = ['Ann', 'Bob Lee'];

/** Messages of two people, some on the day of the one before. */
function chat(write: (who: string, day: number, minute: number, text: string) => string, count = 24): string {
  const messages = Array.from({ length: count }, (_, i) =>
    write(people[i % 2] ?? '', 3 + Math.floor(i / 15), 10 + i, said[i % said.length] ?? ''),
  );
  return ['Here is our chat:', '', ...messages, '', 'What did Bob start?'].join('\n');
}

describe('shortenChat()', () => {
  it('says once that somebody said something', () => {
    const text = chat((who, _, __, text) => `${who} said, "${text}"`);
    const out = shortenChat(text, { level: 'balanced' });
    expect(out.split('\n').slice(0, 5)).toEqual([
      'Here is our chat:',
      '',
      '[gw chat: "Name: …" stands for Name said, "…", of Ann, Bob Lee]',
      'Ann: I finally started the pottery class and made a mess.',
      'Bob Lee: We went to the lake: it rained at 15:00 sharp.',
    ]);
    expect(restoreChat(out)).toBe(text);
  });

  it.each<[string, (who: string, day: number, minute: number, text: string) => string, string]>([
    [
      'in brackets',
      (who, day, minute, text) => `[${pad(day)}/05/2023, 14:${minute}:07] ${who}: ${text}`,
      '[14:11:07] Bob Lee: We went',
    ],
    [
      'before a dash',
      (who, day, minute, text) => `5/${day}/23, 2:${minute} PM - ${who}: ${text}`,
      '2:11 PM - Bob Lee: We went',
    ],
    [
      'for nicks',
      (who, day, minute, text) => `[2023-05-${pad(day)} 14:${minute}] <${who}> ${text}`,
      '[14:11] <Bob Lee> We went',
    ],
    [
      'after the time',
      (who, day, minute, text) => `[D1:${minute}] [2:${minute} pm on ${day} May, 2023] ${who}: ${text}`,
      '[D1:11] [2:11 pm] Bob Lee: We went',
    ],
    [
      'on a line with the name',
      (who, day, minute, text) => `${who} — 05/${pad(day)}/2023 2:${minute} PM\n${text}`,
      'Bob Lee — 2:11 PM',
    ],
  ])('leaves out a date that still holds, %s', (_, write, second) => {
    const text = chat(write);
    const out = shortenChat(text, { level: 'balanced' });
    expect(out).toMatch(/^Here is our chat:\n\n\[gw chat: a date is left out where the one before holds\]\n/);
    expect(out).toContain(`\n${second}`);
    // At the start, after twelve messages, on the next day.
    expect(out.match(/2023|\/23,/g)?.length).toBe(3);
    expect(restoreChat(out)).toBe(text);
  });

  it.each([
    ['a log', (i: number) => `2024-05-01 10:00:${pad(i)} worker: finished the job ${i}`],
    [
      'a log in brackets',
      (i: number) => `[2024-05-01 10:00:${pad(i)}] ${i % 2 ? 'ERROR' : 'INFO'}: job ${i}`,
    ],
    ['a calendar', (i: number) => `2024-05-01 10:${pad(i)} meet person ${i}`],
    ['one who talks alone', (i: number) => `[01/05/2024, 10:${pad(i)}] Me: buy ${i} apples`],
    ['prose', (i: number) => `On the day number ${i} Ann said, "Hello there."`],
  ])('leaves %s', (_, line) => {
    const text = Array.from({ length: 30 }, (_, i) => line(i)).join('\n');
    expect(shortenChat(text, { level: 'balanced' })).toBe(text);
  });

  it('is undone by restoreChat(), for chats with odd lines in them', () => {
    const who = fc.constantFrom('Ann', 'Bob Lee', 'eve_1');
    const text = fc.oneof(
      fc.constantFrom(...said, '', '14:05', '[14:05] x', 'Ann: hi'),
      fc.string({ maxLength: 20 }),
    );
    const form = fc.constantFrom<(who: string, day: number, text: string) => string>(
      (name, day, words) => `[0${day}/05/2023, 14:05:07] ${name}: ${words}`,
      (name, day, words) => `5/${day}/23, 2:05 PM - ${name}: ${words}`,
      (name, day, words) => `[2:05 pm on ${day} May, 2023] ${name}: ${words}`,
      (name, day) => `${name} — 05/0${day}/2023 2:05 PM`,
      (name, _, words) => `${name} said, "${words}"`,
    );
    const message = fc.record({ who, text, day: fc.integer({ min: 1, max: 2 }), odd: fc.nat(9) });
    const runs = process.env.GW_LONG ? 10_000 : 2_000;
    let shortened = 0;
    fc.assert(
      fc.property(
        form,
        form,
        fc.array(message, { minLength: 10, maxLength: 40 }),
        (write, other, messages) => {
          const lines = messages.map(({ who, text, day, odd }) =>
            odd === 0 ? text : odd === 1 ? other(who, day, text) : write(who, day, text),
          );
          const out = shortenChat(lines.join('\n'), { level: 'balanced' });
          if (out !== lines.join('\n')) shortened++;
          expect(restoreChat(out)).toBe(lines.join('\n'));
        },
      ),
      { numRuns: runs },
    );
    expect(shortened).toBeGreaterThan(0.3 * runs);
  });
});

describe('a chat that is pasted', () => {
  const text = chat((who, day, minute, text) => `[${pad(day)}/05/2023, 14:${minute}:07] ${who}: ${text}`, 60);
  const paste = (content: string) => compress([{ role: 'user', content }], { level: 'safe' }).messages;

  it('is shortened, and not twice', () => {
    const out = paste(text);
    expect(String(out[0]?.content).length).toBeLessThan(text.length * 0.9);
    expect(compress(out, { level: 'safe' }).messages).toEqual(out);
  });

  it('refers to itself when it is pasted again', () => {
    const messages = [
      { role: 'user', content: text },
      { role: 'assistant', content: 'The pottery class.' },
      { role: 'user', content: text.replace('What did Bob start?', 'And Ann?') },
    ];
    const out = compress(messages, { level: 'balanced' }).messages;
    expect(out[2]?.content).toBe('Here is our chat:\n\n[gw: the same as the block above]\n\nAnd Ann?');
  });

  it('is no part of the question', () => {
    const talk = chat(
      (who, _, i, words) => `${who} said, "${i % 4 === 3 ? 'Nice pottery class.' : words}"`,
      80,
    );
    const [message] = compress([{ role: 'user', content: talk }], { level: 'balanced' }).messages;
    expect(message?.content).not.toContain('Nice pottery class.');
    expect(message?.content).toContain('Ann: I finally started the pottery class and made a mess.\n');
  });

  it('stays where the whole text is wanted back', () => {
    const wanted = text.replace('What did Bob start?', 'Return the complete text with the typos mended.');
    expect(paste(wanted)[0]?.content).toBe(wanted);
  });
});
