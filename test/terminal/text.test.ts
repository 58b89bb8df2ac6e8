import { describe, expect, it } from 'vitest';
import { safeJson } from '../../src/terminal/text.ts';

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
