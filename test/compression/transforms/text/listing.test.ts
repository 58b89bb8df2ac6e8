import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readQuestion } from '../../../../src/compression/prompt/question.ts';
import type { Scope } from '../../../../src/compression/transforms/scope.ts';
import { groupListing } from '../../../../src/compression/transforms/text/listing.ts';
import { ungroupListing } from '../../decode/listing.ts';

const scope = (words = ''): Scope => ({
  level: 'safe',
  question: readQuestion(words),
  fromTool: true,
  keepKey: () => false,
  leaveOut: () => {
    throw new Error('nothing may be left out');
  },
});

const folder = fc.constantFrom('./src/lib', './test/unit/deep', 'docs', '/usr/share/doc');
const name = fc.constantFrom('a.ts', 'index.js', 'b c.md', 'Makefile', '## x', 'lib/', 'x:1:', ':3:', '3:');
const line = fc.oneof(
  fc
    .tuple(folder, name, fc.nat(99), fc.string({ maxLength: 20 }))
    .map(([f, n, l, t]) => `${f}/${n}:${l}:${t.replace(/\n/g, '')}`),
  fc.tuple(folder, name).map(([f, n]) => `${f}/${n}`),
  name,
);

describe('groupListing()', () => {
  it('is undone by ungroupListing()', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const text = lines.join('\n');
        expect(ungroupListing(groupListing(text, scope()))).toBe(text);
      }),
      { numRuns: process.env.GW_LONG ? 10_000 : 2_000 },
    );
  });

  it('puts search results under their file, and leaves the one that is asked for whole', () => {
    const lines = Array.from(
      { length: 20 },
      (_, i) => `./src/server/request-${i % 2 === 0 ? 'a' : 'b'}.ts:${i}:  call(${i})`,
    ).sort();
    const out = groupListing(lines.join('\n'), scope('What is in ./src/server/request-b.ts:7 ?')).split('\n');
    expect(out.slice(0, 3)).toEqual([
      '[gw: matches under the name of their file]',
      '## ./src/server/request-a.ts',
      '0:  call(0)',
    ]);
    expect(out).toContain('./src/server/request-b.ts:7:  call(7)');
  });
});
