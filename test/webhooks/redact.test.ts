import { describe, expect, it } from 'vitest';
import { redact, storableResponse } from '../../src/webhooks/send.ts';

describe('redact()', () => {
  it.each([
    ['nothing to hide', 'nothing to hide'],
    ['key sk-gw-0123456789abcdef.', 'key [redacted].'],
    ['Authorization: Bearer abc.def-ghi_jkl', 'Authorization: [redacted]'],
    ['xoxb-123456789-abc', '[redacted]'],
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw!', '[redacted]!'],
    ['a\u0000b\u001b]0;title\u0007c\u202ed', 'ab]0;titlecd'],
    ['two\nlines\tstay', 'two\nlines\tstay'],
  ])('makes of %j the text %j', (text, expected) => {
    expect(redact(text, [])).toBe(expected);
  });

  it.each([
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa+/',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa+/==',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa%2B%2F',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa-_',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa+\\/',
  ])('hides a signing secret that is quoted without its prefix as %j', (quoted) => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa+/==';
    for (const text of [`key ${quoted}!`, `key whsec_${quoted}!`])
      expect(redact(text, [secret])).not.toMatch(/MfKQ|ILPZ/);
  });

  it('hides the longest of the known secrets first', () => {
    expect(redact('at /services/T1/B2/token, token', ['token1', '/services/T1/B2/token', 'B2/token'])).toBe(
      'at [redacted], token',
    );
  });
});

describe('storableResponse()', () => {
  it('keeps 4 kB of whole characters', () => {
    const stored = storableResponse('ü'.repeat(4_000), [], true);
    expect(stored).toBe('ü'.repeat(2_048));
    expect(storableResponse(`a${'ü'.repeat(4_000)}`, [], true)).toBe(`a${'ü'.repeat(2_047)}`);
  });
});
