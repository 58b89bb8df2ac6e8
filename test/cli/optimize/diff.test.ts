import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diffLines, shortDiff } from '../../../src/cli/optimize/outcome.ts';

const text = (lines: { sign: string; text: string }[]) => lines.map((line) => line.sign + line.text);

describe('diffLines()', () => {
  test('keeps the common lines, in order', () => {
    expect(text(diffLines('a\nb\nc\nd', 'a\nx\nc\nd\ne'))).toEqual([' a', '-b', '+x', ' c', ' d', '+e']);
  });

  test('contains both texts in full', () => {
    const lines = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
      .map((all) => all.join('\n'));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = diffLines(before, after);
        const without = (sign: string) => diff.filter((line) => line.sign !== sign).map((line) => line.text);
        expect(without('+').join('\n')).toBe(before);
        expect(without('-').join('\n')).toBe(after);
      }),
    );
  });

  test('is fast for long texts', () => {
    const many = (name: string) => Array.from({ length: 20_000 }, (_, i) => `${name}${i}`).join('\n');
    expect(diffLines(many('a'), many('b'))).toHaveLength(40_000);
  });
});

describe('shortDiff()', () => {
  const numbered = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `line ${from + i}`);

  test('omits lines far from a change, and most lines of a long change', () => {
    const before = [...numbered(0, 30)].join('\n');
    const after = [...numbered(0, 10), 'new', ...numbered(11, 9), 'end'].join('\n');
    expect(text(shortDiff(diffLines(before, after), 40))).toEqual([
      ' line 9',
      '-line 10',
      '+new',
      ' line 11',
      ' ...',
      ' line 19',
      '-line 20',
      '-line 21',
      '-line 22',
      '-line 23',
      '-line 24',
      ' ... 5 more lines removed',
      '+end',
    ]);
  });

  test('is never longer than its limit', () => {
    const before = Array.from({ length: 100 }, (_, i) => `${i % 2 ? 'old' : 'same'} ${i}`).join('\n');
    const short = shortDiff(diffLines(before, before.replaceAll('old', 'new')), 10);
    expect(short).toHaveLength(10);
    expect(short.at(-1)?.text).toBe('... and more changes');
  });
});
