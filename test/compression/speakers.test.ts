import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress } from '../../src/compression/compress.ts';
import { foldSpeakers, unfoldSpeakers } from '../../src/compression/speakers.ts';

const name = fc.constantFrom('Caroline', 'Melanie', 'Cal', 'Mr. Lee', 'Ann-Sophie', 'C', 'Note');
const lead = fc.constantFrom(' said, "', ': ', ':', '" ');
const said = fc.oneof(
  fc.constantFrom(
    'I went to see the old harbour with my sister yesterday.',
    'C: is a letter as well "',
    '',
    ' ',
  ),
  fc.string({ maxLength: 60 }).map((text) => text.replace(/[\n\r]/g, '')),
);
const line = fc
  .tuple(
    fc.constantFrom('', '[1:56 pm on 8 May, 2023] ', '(later)'),
    name,
    lead,
    said,
    fc.constantFrom('', '"'),
  )
  .map((parts) => parts.join(''));

describe('foldSpeakers()', () => {
  it('is undone by unfoldSpeakers(), for 10,000 conversations', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        const text = lines.join('\n');
        expect(unfoldSpeakers(foldSpeakers(text))).toBe(text);
      }),
      { numRuns: 10_000 },
    );
  });

  const turns = Array.from({ length: 60 }, (_, i) => {
    return `${i % 2 ? 'Melanie' : 'Caroline'} said, "I have painted picture ${i} of the lake by now."`;
  });

  it('says who speaks by a letter', () => {
    const folded = foldSpeakers(['DATE: 8 May, 2023', '', ...turns].join('\n')).split('\n');
    expect(folded.slice(0, 4)).toEqual([
      '[gw speakers: C: = Caroline said, "…" | M: = Melanie said, "…"]',
      'DATE: 8 May, 2023',
      '',
      'C: I have painted picture 0 of the lake by now.',
    ]);
  });

  it.each([
    [
      'worked examples',
      (i: number) => `${i % 2 ? 'Assistant' : 'User'} said, "It is the year ${i} of the era now."`,
    ],
    ['fields', (i: number) => `${i % 2 ? 'Colour' : 'Weight of it'}: ${i}`],
    [
      'what one person says',
      (i: number) => `Melanie said, "I have painted picture ${i} of the lake by now."`,
    ],
  ])('leaves %s as they are', (_, write) => {
    const text = Array.from({ length: 60 }, (_, i) => write(i)).join('\n');
    expect(foldSpeakers(text)).toBe(text);
  });

  it('leaves a conversation in which a letter stands for something else', () => {
    const text = [...turns, 'C: this is the third point of the list above, and it is as long.'].join('\n');
    expect(foldSpeakers(text)).toBe(text);
  });

  it('is undone in what goes out of compress()', () => {
    const text = `${turns.join('\n')}\n\nWhat did Caroline paint?`;
    const { messages } = compress([{ role: 'user', content: text }], { level: 'safe' });
    expect(String(messages[0]?.content).length).toBeLessThan(text.length * 0.9);
    expect(unfoldSpeakers(String(messages[0]?.content))).toBe(text);
  });
});
