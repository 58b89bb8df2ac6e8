import { describe, expect, it } from 'vitest';
import { compress } from '../../../../src/compression/conversation/compress.ts';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import { dropFiller, thinTranscript } from '../../../../src/compression/transforms/chat/transcript.ts';

describe('dropFiller()', () => {
  it.each([
    ['Great question! The limit is 5. I hope this helps!', 'The limit is 5.'],
    ['Hey Mel! Good to see you! I got the job in March.', 'I got the job in March.'],
    ["You're welcome! Let me know if you have any other questions.\nIt opens at 9.", 'It opens at 9.'],
    ['Thank you for the book about Rome! It was great.', 'Thank you for the book about Rome! It was great.'],
    ['Ann: Sounds good! I moved to Berlin.', 'Ann: I moved to Berlin.'],
    ['[2:05 pm] Ann: Sounds good!', '[2:05 pm] Ann: Sounds good!'],
    ['Sure!\n```\nSure!\n```\nEnjoy your trip to the coast!', '```\nSure!\n```'],
    ['Enjoy your trip to Rome!', 'Enjoy your trip to Rome!'],
    ['Sure, I moved to Berlin. Wow, 30 people came!', 'Sure, I moved to Berlin. Wow, 30 people came!'],
  ])('turns %j into %j', (text, left) => {
    expect(dropFiller(text)).toBe(left);
    expect(dropFiller(left)).toBe(left);
  });
});

describe('thinTranscript()', () => {
  const facts = Array.from(
    { length: 14 },
    (_, i) => `Ann: I painted a picture of the harbour number ${i} last week.\nBob: Wow! That's great!`,
  );
  const talk = ['Ann: Where did you go on holiday?', 'Bob: Norway.', ...facts].join('\n');

  it('keeps facts and answers', () => {
    const out = thinTranscript(talk, readQuestion('Where was Bob on holiday?'));
    expect(out).toContain('Bob: Norway.');
    expect(out.match(/harbour number/g)?.length).toBe(14);
    expect(out).toMatch(/^\[gw: polite phrases and 13 turns of small talk left out\]/);
  });

  it.each<[string, (who: string, i: number, text: string) => string]>([
    ['is told', (who, _, text) => `${who} said, "${text}"`],
    ['is stamped', (who, i, text) => `[03/05/2023, 14:${10 + i}:07] ${who}: ${text}`],
    ['is stamped before a dash', (who, i, text) => `5/3/23, 2:${10 + i} PM - ${who}: ${text}`],
    ['has nicks', (who, i, text) => `[14:${10 + i}] <${who}> ${text}`],
  ])('knows a conversation that %s', (_, write) => {
    const lines = talk.split('\n').map((line, i) => write(line.slice(0, 3), i, line.slice(5)));
    const out = thinTranscript(lines.join('\n'), readQuestion('Where was Bob on holiday?'));
    expect(out.split('\n')).toEqual([
      '[gw: polite phrases and 13 turns of small talk left out]',
      ...lines.filter((line, i) => !line.includes('great') || i === lines.length - 1),
    ]);
  });

  it('keeps an answer below a blank line, a name, and what is said last', () => {
    const out = thinTranscript(
      `${talk.replace('\nBob: Norway.', '\n\nBob: Norway.').replace("Bob: Wow! That's great!", 'Bob: Like in Bergen!')}\nBob: See you!`,
      readQuestion('What did Ann paint?'),
    );
    expect(out).toMatch(/^\[gw: polite phrases and 13 turns of small talk left out\]/);
    expect(out).toContain('\n\nBob: Norway.\n');
    expect(out).toContain('\nBob: Like in Bergen!\n');
    expect(out).toMatch(/\nBob: See you!$/);
  });

  it('leaves a text alone that is no conversation', () => {
    const text = Array.from({ length: 40 }, (_, i) => `Item ${i} is here. Thanks!`).join('\n');
    expect(thinTranscript(text, readQuestion('What?'))).toBe(text);
  });
});

it("compress() leaves the assistant's words at level safe and next to tool calls", () => {
  const content = `I hope this helps! ${'The limit is 5 and the next one is 6, see there. '.repeat(60)}${'You are welcome! '.repeat(40)}`;
  const answer = { role: 'assistant', content };
  expect(compress([answer], { level: 'safe' }).messages[0]).toBe(answer);
  expect(compress([answer], { level: 'balanced' }).messages[0]).not.toBe(answer);
  const calling = { ...answer, tool_calls: [] };
  expect(compress([calling], { level: 'balanced' }).messages[0]).toBe(calling);
});
