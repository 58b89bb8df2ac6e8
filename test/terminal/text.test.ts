import { describe, expect, it } from 'vitest';
import { safeJson, shorten, shortenMiddle, widthOf } from '../../src/terminal/text.ts';

describe('safeJson()', () => {
  it('escapes what a terminal acts on, and stays the same value', () => {
    const value = {
      'a\u202e': 'C1 \u009b31m, bidi \u2066, zero width \u200b, DEL \u007f, tag \u{e0001}, é 日本',
    };
    const text = safeJson(value, 2);
    expect(text).not.toMatch(/[\u007f-\u009f\p{Cf}]/u);
    expect(text).toContain(
      'C1 \\u009b31m, bidi \\u2066, zero width \\u200b, DEL \\u007f, tag \\udb40\\udc01, é 日本',
    );
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe('shorten() and shortenMiddle()', () => {
  it('keep to the width, and cut no mark from its letter and no emoji in two', () => {
    const letters = ['e\u0301', 'b\u0300', '👩‍👩‍👧', '🇩🇪', '模', 'ｆ', '한', 'x'];
    const wholes = new RegExp(`^(${letters.join('|')})*…?(${letters.join('|')})*$`);
    for (const [i] of letters.entries())
      for (let width = 1; width < 20; width++) {
        const text = Array.from({ length: 24 }, (_, at) => letters[(at * 3 + i) % letters.length]).join('');
        for (const cut of [shorten(text, width), shortenMiddle(text, width)]) {
          expect(cut).toMatch(wholes);
          expect(widthOf(cut)).toBeLessThanOrEqual(width);
        }
      }
  });
});
