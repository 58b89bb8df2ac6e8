import { createRedactor } from '../redact.ts';

const MASK = '[redacted]';
const MAX_STORED_BYTES = 4096;

/** Common formats of keys and tokens. */
const PATTERNS = [
  /\bwhsec_[A-Za-z0-9+/=_-]+/g,
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{8,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi,
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point; they could steer a terminal.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Removes these secrets, whatever looks like a key, and control characters from external text. */
export function redact(text: string, secrets: readonly string[]): string {
  const masked = createRedactor(secrets).redact(text);
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, MASK), masked).replace(CONTROLS, '');
}

/** The beginning of a response, redacted for storage. `complete` is false if `text` is cut off at its end. */
export function storableResponse(text: string, secrets: readonly string[], complete: boolean): string {
  const clean = redact(text, secrets);
  // The text may end with part of a secret, which would not be recognised. So the end is dropped.
  const longest = Math.max(256, ...secrets.map((secret) => 3 * secret.length));
  const safe = complete ? clean : clean.slice(0, Math.max(0, clean.length - longest));
  return cutToBytes(safe, MAX_STORED_BYTES);
}

function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A character that is cut in half decodes to the replacement character, which is dropped.
  return bytes
    .subarray(0, limit)
    .toString()
    .replace(/\ufffd{1,3}$/, '');
}
