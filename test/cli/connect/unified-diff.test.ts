import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { unifiedDiff } from '../../../src/cli/connect/unified-diff.ts';
import { COLOURED, PLAIN } from '../../../src/terminal/palette.ts';

const diff = (before: string, after: string) => unifiedDiff(before, after, { palette: PLAIN });

describe('unifiedDiff()', () => {
  test('shows three lines around each change, in hunks as diff -u does', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
    const after = before.flatMap((line) => (line === 'b' ? ['B'] : line === 'k' ? ['k', 'new'] : [line]));
    expect(diff(before.join('\n'), after.join('\n'))).toEqual([
      '@@ -1,5 +1,5 @@',
      ...[' a', '-b', '+B', ' c', ' d', ' e'],
      '@@ -9,4 +9,5 @@',
      ...[' i', ' j', ' k', '+new', ' l'],
    ]);
  });

  test('names the line before an empty range', () => {
    expect(diff('', 'a\n')).toEqual(['@@ -0,0 +1,1 @@', '+a']);
    expect(diff('a\n', '')).toEqual(['@@ -1,1 +0,0 @@', '-a']);
  });

  test('has no lines for equal texts, and none for line endings alone', () => {
    expect(diff('a\nb\n', 'a\nb\n')).toEqual([]);
    expect(diff('a\r\nb', 'a\nb\n')).toEqual([]);
  });

  test('colours lines, and shows them as the caller wishes', () => {
    const lines = unifiedDiff('key=1', 'key=2', {
      palette: COLOURED,
      show: (line) => line.replace(/\d/, '*'),
    });
    expect(lines.slice(1)).toEqual(['\u001b[31m-key=*\u001b[39m', '\u001b[36m+key=*\u001b[39m']);
  });

  test('is a way from one text to the other, and a shortest one', () => {
    const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 14 });
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        // Without context lines in between, the lines that stay are found by their numbers.
        const lines = diff(before.join('\n'), after.join('\n'));
        const removed = lines.filter((line) => line.startsWith('-')).length;
        const added = lines.filter((line) => line.startsWith('+')).length;
        expect(before.length - removed).toBe(after.length - added);
        expect(before.length - removed).toBe(commonLength(before, after));
      }),
    );
  });
});

/** Length of the longest common subsequence, by its definition. */
function commonLength(a: readonly string[], b: readonly string[]): number {
  const [first, ...rest] = a;
  if (first === undefined || b.length === 0) return 0;
  const at = b.indexOf(first);
  const without = commonLength(rest, b);
  return at < 0 ? without : Math.max(without, 1 + commonLength(rest, b.slice(at + 1)));
}
