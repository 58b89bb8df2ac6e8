import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress, type Message } from '../../../src/compression/conversation/compress.ts';
import { Boilerplate } from '../../../src/compression/repeats/boilerplate.ts';
import { restoreEnds } from '../decode/boilerplate.ts';

const NOTE =
  'File updated. Please review the changes and make sure they are correct (correct indentation, no duplicate lines, etc).';
const HEAD =
  '  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current      Dload  Upload   Total';

function cut(known: Boilerplate, text: string): string {
  const { head, from, end, tail } = known.cut(text);
  return head + text.slice(from, end) + tail;
}

describe('Boilerplate', () => {
  it('restores what it cuts, for 5,000 sessions', () => {
    const line = fc.oneof(
      fc.constantFrom(
        NOTE,
        '',
        'ok',
        '  % Total    % Received % Xferd  Average Speed   Time',
        `${NOTE} Again.`,
      ),
      fc.constantFrom(
        'https://example.com/a/long/path/to/a/file/one',
        'https://example.com/a/long/path/to/a/file/two',
      ),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.constant(`${'x'.repeat(23)}\ud83d\ude00 is no half of a character, and this is a long line`),
    );
    const text = fc.array(line, { minLength: 1, maxLength: 8 }).map((lines) => lines.join('\n'));
    let found = 0;
    fc.assert(
      fc.property(fc.array(text, { maxLength: 6 }), (texts) => {
        const known = new Boilerplate();
        const before: string[] = [];
        for (const text of texts.filter((text) => !text.includes('[gw'))) {
          const out = cut(known, text);
          if (out !== text) found++;
          expect(out.length).toBeLessThanOrEqual(text.length);
          expect(/[\ud800-\udbff]…/.test(out)).toBe(false);
          expect(restoreEnds(out, before)).toBe(text);
          known.add(out);
          before.push(out);
        }
      }),
      { numRuns: 5000 },
    );
    expect(found).toBeGreaterThan(300);
  });

  it('says nothing of a line that has another end elsewhere', () => {
    const known = new Boilerplate();
    known.add(`${NOTE}\nfirst`);
    expect(cut(known, `${NOTE}\nsecond`)).toBe('[gw: "File updated. Please rev…" as before]\nsecond');
    known.add(`${NOTE} And save them.\nthird`);
    expect(cut(known, `${NOTE}\nfourth`)).toBe(`${NOTE}\nfourth`);
  });

  it('says nothing of a line that has another end in the midst of a text', () => {
    const known = new Boilerplate();
    const midst = Array.from({ length: 40 }, (_, i) => (i === 20 ? `${NOTE} And save them.` : `line ${i}`));
    known.add(`${NOTE}\nfirst`);
    known.add(midst.join('\n'));
    expect(cut(known, `${NOTE}\nsecond`)).toBe(`${NOTE}\nsecond`);
  });
});

const call = (id: string, name: string, args: object): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});
const session = (name: string, args: object, results: readonly string[]): Message[] => [
  { role: 'user', content: `Mend the parser, please. ${'It drops the last field of a row. '.repeat(80)}` },
  ...results.flatMap((content, i) => [
    call(`c${i}`, name, { ...args, step: i }),
    { role: 'tool', tool_call_id: `c${i}`, content },
  ]),
];
const outOf = (messages: readonly Message[]) => {
  const out = compress(messages, { level: 'safe' }).messages;
  expect(compress(out, { level: 'safe' }).messages).toEqual(out);
  for (let end = 0; end < messages.length; end++)
    expect(compress(messages.slice(0, end), { level: 'safe' }).messages).toEqual(out.slice(0, end));
  return out.map((message) => message.content);
};

describe('what a tool prints around its results', () => {
  it('is said once', () => {
    const messages = session('edit', {}, [`Line 4 changed.\n${NOTE}`, `Line 9 changed.\n${NOTE}\n`, NOTE]);
    const out = outOf(messages);
    expect(out[2]).toBe(messages[2]?.content);
    expect(out[4]).toBe('Line 9 changed.\n[gw: "File updated. Please rev…" as before]\n');
    expect(out[6]).toBe('[gw: "File updated. Please rev…" as before]');
  });

  it('counts as lines of its text where a later one is like it', () => {
    const head = [
      '  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current',
      '                                 Dload  Upload   Total   Spent    Left  Speed',
      '  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0',
    ];
    const page = (title: string) => [
      ...head,
      `100  293  ${title}  15421`,
      ...Array.from(
        { length: 20 },
        (_, i) =>
          `${'abcdefghijklmnopqrstuvwxyz'[i]} is what the page is about, it says, and ${'why '.repeat(i)}`,
      ),
      title,
    ];
    const out = outOf(
      session(
        'curl',
        {},
        ['a', 'b', 'c'].map((title, i) => [...page(title), `${i}`].join('\n')),
      ),
    );
    expect(out[4]).toContain('[gw: "% Total    % Received % …" and 2 more lines as before]\n');
    expect(out[4]).toContain('\n[gw: lines 6-23]\n');
  });

  it.each([
    ['JSON', 'query', {}, (i: number) => `[\n"${'a long value that all results have '.repeat(4)}",\n${i}\n]`],
    [
      'a source file',
      'read_file',
      { path: 'src/a.ts' },
      (i: number) => `// ${'A licence that all files have. '.repeat(5)}\nexport const a = ${i};`,
    ],
  ])('is not cut from %s', (_, name, args, result) => {
    const out = outOf(session(name, args, [result(1), result(2)]));
    expect(out[4]).not.toContain('as before');
  });

  const prompt = (n: number) => `\n(in ${n})\nbash-$`;
  const say = (around: (n: number) => string) => [
    { role: 'user', content: around(1) },
    { role: 'assistant', content: 'I see. '.repeat(400) },
    { role: 'user', content: around(2) },
  ];

  it('is known in columns that a shell prints to a user', () => {
    expect(outOf(say((n) => `${HEAD}\n${n} of 2${prompt(n)}`))[2]).toBe(
      `[gw: "% Total    % Received % …" as before]\n2 of 2${prompt(2)}`,
    );
  });

  it('is not known in what a user says after what a shell printed', () => {
    const messages = say((n) => (n === 1 ? `Mend it.\n${NOTE}${prompt(n)}` : `Now this.\n${NOTE}`));
    expect(outOf(messages)[2]).toBe(messages[2]?.content);
  });

  it('is not known in what a user says, of what a shell printed or otherwise', () => {
    for (const end of [prompt, () => '']) {
      const messages = say((n) => `${NOTE}\n${n} of 2${end(n)}`);
      expect(outOf(messages)[2]).toBe(messages[2]?.content);
    }
  });
});
