const MASK = '[redacted]';
const MAX_STORED_BYTES = 4096;

/** What looks like a key, whoever's it is. */
const PATTERNS = [
  /\bwhsec_[A-Za-z0-9+/=_-]+/g,
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\bxox[a-z]-[A-Za-z0-9-]{8,}/g,
  /\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi,
];

// biome-ignore lint/suspicious/noControlCharactersInRegex: taking them out is the point; they could steer a terminal.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Takes these secrets, and whatever looks like one, out of a text that came from outside; and control characters. */
export function redact(text: string, secrets: readonly string[]): string {
  const known = [...secrets].sort((a, b) => b.length - a.length).filter((secret) => secret.length >= 6);
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, MASK), text);
  return PATTERNS.reduce((rest, pattern) => rest.replace(pattern, MASK), without).replace(CONTROLS, '');
}

/** The beginning of an answer as it may be stored. `complete` is false where the answer was cut at its end. */
export function storableResponse(text: string, secrets: readonly string[], complete: boolean): string {
  const clean = redact(text, secrets);
  // What is left of a secret that was cut in half is no longer recognised: it goes with the end of the text.
  const longest = Math.max(256, ...secrets.map((secret) => secret.length));
  const safe = complete ? clean : clean.slice(0, Math.max(0, clean.length - longest));
  return cutToBytes(safe, MAX_STORED_BYTES);
}

function cutToBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return text;
  // A character cut in half decodes to the replacement character, which takes three bytes.
  return bytes
    .subarray(0, limit)
    .toString()
    .replace(/\ufffd+$/, '');
}
