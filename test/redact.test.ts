import { describe, expect, it } from 'vitest';
import { createRedactor } from '../src/redact.ts';

const KEY = 'sk-proj-Ab3/dE+fGh1jKlMn0pQrStUvWxYz9876=';
const { redact } = createRedactor([KEY, `Bearer ${KEY}`, 'ollama', 'tiny']);
/** Parts of the key long enough to be of use. */
const PARTS = Array.from({ length: KEY.length - 14 }, (_, i) => KEY.slice(i, i + 15).toLowerCase());

const SPELLINGS: Record<string, string> = {
  plain: KEY,
  'in capitals': KEY.toUpperCase(),
  'escaped for a URL': encodeURIComponent(KEY),
  'escaped for a URL throughout': Buffer.from(KEY).toString('hex').replace(/../g, '%$&'),
  'with slashes escaped for JSON': KEY.replaceAll('/', '\\/'),
  'escaped for JSON': KEY.replace(/[A-Z/+]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'escaped for HTML': KEY.replace(/[/+=]/g, (c) => `&#${c.charCodeAt(0)};`),
  hexadecimal: Buffer.from(KEY).toString('hex'),
  ...Object.fromEntries(
    ['', 'a', ':b', 'Bearer ', 'user:'].flatMap((before) => [
      [`base64 after "${before}"`, Buffer.from(`${before}${KEY} and more`).toString('base64')],
      [`base64url after "${before}"`, Buffer.from(`${before}${KEY} and more`).toString('base64url')],
    ]),
  ),
  'cut at its end': KEY.slice(0, 24),
  'cut at its beginning': KEY.slice(11),
  'cut at both': KEY.slice(5, 20),
};

describe('redact()', () => {
  it.each(Object.entries(SPELLINGS))('hides a secret that is %s', (_name, spelled) => {
    const text = redact(`wrong key ${spelled}! See the docs`);
    expect(text).toMatch(/^wrong key .*\[redacted\].*See the docs$/);
    for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
      for (const word of [text, ...text.split(/[^\w+/=-]+/)]) {
        const decoded = Buffer.from(word, encoding).toString('latin1').toLowerCase();
        expect(PARTS.filter((part) => decoded.includes(part))).toEqual([]);
      }
    }
  });

  it('leaves other text alone, and hides a short secret only as a whole', () => {
    for (const text of ['wrong key', 'a%20b', '100%', 'sk-proj', '', 'ollam', 'tiny', 'é \u{1f600}'])
      expect(redact(text)).toBe(text);
    expect(redact('OLLAMA says no')).toBe('[redacted] says no');
  });

  it('hides several secrets in one text', () => {
    expect(redact(`${KEY} and ${KEY}, ollama`)).toBe('[redacted] and [redacted], [redacted]');
  });
});
