import { describe, expect, it } from 'vitest';
import { compress, type Level, type Message } from '../../src/compression/conversation/compress.ts';

const levels: Level[] = ['safe', 'balanced'];

function answer(question: string, content: string, level: Level): string {
  const messages: Message[] = [
    { role: 'user', content: question },
    { role: 'tool', tool_call_id: 'a', content },
  ];
  const out = compress(messages, { level }).messages;
  expect(compress(out, { level }).messages).toEqual(out);
  return String(out[1]?.content);
}

const repeat = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join('\n');

describe.each(levels)('at level %s', (level) => {
  it.each([
    ['YAML', repeat(60, (i) => `  - name: svc-${i}\n    image: "repo/app:${i}"\n    port: ${8000 + i}`)],
    ['TOML', repeat(60, (i) => `[[item]]\nname = "n${i}"\nsize = ${i * 3}`)],
    [
      'a diff',
      `diff --git a/x b/x\n@@ -1,90 +1,90 @@\n${repeat(90, (i) => `${i % 2 ? '-' : '+'}  const value = compute(${i});`)}`,
    ],
    [
      'Chinese prose',
      repeat(40, (i) => `第${i}章讲述了河流与桥梁的历史，以及人们如何在这里生活。这是第${i * 3}段。`),
    ],
    [
      'Arabic and emoji',
      repeat(40, (i) => `${'كلمة '.repeat(1 + ((i * 7) % 13))}🚲 ${'أخرى '.repeat(1 + ((i * 5) % 11))}.`),
    ],
  ])('leaves %s as it is', (_, content) => {
    expect(answer('What is this about?', content, level)).toBe(content);
  });

  it('leaves an e-mail that a user pastes, with its quoted threads', () => {
    const mail = repeat(
      30,
      (i) =>
        `On Mon, Ann wrote:\n> I think that point ${i} is settled, and Bob agrees with it.\n>> Is it? asked Bob.`,
    );
    const message = { role: 'user', content: `What did Bob ask?\n\n${mail}` };
    expect(compress([message], { level }).messages[0]).toBe(message);
  });

  it.each([
    ['CSV', ['id,city,count', repeat(120, (i) => `${i},city ${i % 7},${i * 31}`)].join('\n')],
    ['TSV', ['id\tcity\tcount', repeat(120, (i) => `${i}\tcity ${i % 7}\t${i * 31}`)].join('\n')],
    [
      'a Markdown table',
      [
        '| id | city | count |',
        '|---|---|---|',
        repeat(120, (i) => `| ${i} | city ${i % 7} | ${i * 31} |`),
      ].join('\n'),
    ],
  ])('keeps every value of %s for a question about all', (_, content) => {
    const out = answer('What is the total of the counts?', content, level);
    for (let i = 0; i < 120; i++) expect(out).toMatch(new RegExp(`\\b${i * 31}\\b`));
  });

  it('keeps the first frame, the message and the cause of a stack trace', () => {
    const frame = 'at com.example.Walker.walk(Walker.java:31)';
    const trace = [
      'java.lang.StackOverflowError: depth 10000',
      '\tat com.example.Main.main(Main.java:5)',
      ...Array.from({ length: 200 }, () => `\t${frame}`),
      'Caused by: java.io.IOException: disk full on /dev/sda7',
    ];
    const out = answer('Why did it fail?', trace.join('\n'), level);
    for (const kept of [trace[0], trace[1], frame, trace.at(-1)]) expect(out).toContain(kept);
    expect(out.length).toBeLessThan(1000);
  });
});

describe('a long chat', () => {
  const turns = Array.from({ length: 80 }, (_, i): Message[] => [
    {
      role: 'user',
      content: `My note ${i}: the ${i % 2 ? 'dog' : 'cat'} ate ${i} biscuits on day ${i * 3}, what now?`,
    },
    {
      role: 'assistant',
      content: `That's a great question! Keep the jar closed and count what is left of the ${i}. I hope this helps! Let me know if you have any other questions.`,
    },
  ]).flat();

  it('stays whole at level safe', () => {
    expect(compress(turns, { level: 'safe' }).messages).toEqual(turns);
  });

  it('loses only politeness in answers at level balanced, turn by turn', () => {
    const { messages } = compress(turns, { level: 'balanced' });
    messages.forEach((message, i) => {
      if (message.role === 'user') expect(message).toBe(turns[i]);
      else
        expect(message.content).toContain(
          `Keep the jar closed and count what is left of the ${(i - 1) / 2}.`,
        );
    });
    expect(messages[41]?.content).not.toContain('I hope this helps');
    expect(compress(turns.slice(0, 40), { level: 'balanced' }).messages).toEqual(messages.slice(0, 40));
  });
});
