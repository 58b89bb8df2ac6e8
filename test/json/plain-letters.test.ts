import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharedLength } from '../../src/json/bytes.ts';
import { withPlainLetters } from '../../src/json/plain-letters.ts';

const escaped = (character: string, capital: boolean) => {
  const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
  return `\\u${capital ? hex.toUpperCase() : hex}`;
};
const plain = (json: string) => withPlainLetters(Buffer.from(json)).toString();

/** A JSON value in which any character may be escaped, or not, and backslashes stand wherever they can. */
const spelled = fc
  .tuple(fc.json({ maxDepth: 3 }), fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 20 }))
  .map(([json, places]) => {
    let text = json;
    for (const [place, capital] of places) {
      const strings = [...text.matchAll(/"(?:[^"\\]|\\.)*"/g)];
      const found = strings[place % Math.max(1, strings.length)];
      const at =
        found &&
        [...found[0]].findIndex((c, i) => i > 0 && /[\w.:/-]/.test(c) && !/\\/.test(found[0].slice(0, i)));
      if (!found || at === undefined || at < 0) continue;
      const where = found.index + at;
      text = text.slice(0, where) + escaped(text[where] ?? '', capital) + text.slice(where + 1);
    }
    return text;
  });

describe('withPlainLetters()', () => {
  test.each([
    ['{"\\u0074ype":"\\u0075rl"}', '{"type":"url"}'],
    ['{"a":"\\u005F\\u002d\\u002E\\u003a\\u002f"}', '{"a":"_-.:/"}'],
    ['{"a":"\\\\u0041"}', '{"a":"\\\\u0041"}'],
    ['{"a":"\\\\\\u0041"}', '{"a":"\\\\A"}'],
    ['{"a":"\\"\\u0022\\u003c\\u00e9\\u001b\\n"}', '{"a":"\\"\\u0022\\u003c\\u00e9\\u001b\\n"}'],
    ['{"a":"\\u004', '{"a":"\\u004'],
    ['{"a":"\\u0041\\', '{"a":"A\\'],
    ['u0041', 'u0041'],
    ['{"\\u00\\u0036dodel":1}', '{"\\u00\\u0036dodel":1}'],
    ['{"\\u006\\u0064odel":1}', '{"\\u006\\u0064odel":1}'],
    ['{"\\u\\u0030064odel":1}', '{"\\u\\u0030064odel":1}'],
    ['{"\\u00xx\\u0061":1}', '{"\\u00xxa":1}'],
  ])('%s', (json, expected) => {
    expect(plain(json)).toBe(expected);
  });

  test.each([
    ['nothing', ''],
    ['prose', `${'a line of prose '.repeat(70)}\\n`.repeat(3)],
    ['code', 'a = \\"b\\"\\n'.repeat(9)],
  ])('keeps the meaning of any JSON behind %s and leaves no escape of a letter', (_, before) => {
    fc.assert(
      fc.property(spelled, (value) => {
        const json = `["${before}", ${value}]`;
        const text = plain(json);
        expect(JSON.parse(text)).toEqual(JSON.parse(json));
        expect(text).not.toMatch(/(?<!\\)(?:\\\\)*\\u00(?:[46][1-9a-f]|[57][0-9a]|3[0-9])/i);
      }),
      { numRuns: 1_000 },
    );
  });

  test('makes no escape of what was none', () => {
    const pieces = fc.constantFrom(
      '\\',
      'u',
      '0',
      '3',
      '6',
      'd',
      '\\u',
      '\\u00',
      '\\u0030',
      '\\u0036',
      '\\u0064',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const json = parts.join('');
        const rest = (text: string) => text.replace(/\\u[\da-f]{4}|\\[^u]/gi, '').match(/\\u/g)?.length ?? 0;
        expect(rest(plain(json))).toBe(rest(json));
        expect(plain(plain(json))).toBe(plain(json));
      }),
      { numRuns: 20_000 },
    );
  });

  test('needs no look at what an earlier result begins with as well', () => {
    const pieces = fc.constantFrom('\\', 'u', '0', '6', '\\u', '\\u006', '\\u0064', '\\u00e9', 'a');
    const text = fc.array(pieces, { maxLength: 6 });
    let skipped = 0;
    fc.assert(
      fc.property(text, text, text, (common, before, after) => {
        const earlier = withPlainLetters(Buffer.from([...common, ...before].join('')));
        const json = Buffer.from([...common, ...after].join(''));
        const shared = sharedLength(earlier, json);
        expect(withPlainLetters(json, shared).toString()).toBe(withPlainLetters(json).toString());
        if (shared > 6) skipped++;
      }),
      { numRuns: 20_000 },
    );
    expect(skipped).toBeGreaterThan(2_000);
    const encoded = Buffer.from('0123456\\u0061');
    expect(withPlainLetters(encoded, encoded.length).toString()).toBe('0123456\\u0061');
    expect(withPlainLetters(encoded, encoded.length - 1).toString()).toBe('0123456a');
  });

  test('returns the very bytes of what has none', () => {
    const bytes = Buffer.from('{"a":"\\u00e9 \\\\u0041"}');
    expect(withPlainLetters(bytes)).toBe(bytes);
  });
});
