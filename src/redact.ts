const MASK = '[redacted]';

/** Removes secrets from foreign text, such as provider errors and library messages. */
export interface Redactor {
  /** The text without any spelling of a secret, whole or cut. Returns the same string if there is nothing to redact. */
  redact(text: string): string;
}

/** Matches text that looks like a key. */
const KEYS =
  /\b(sk-[A-Za-z0-9_-]{8,}|Bearer\s+[^\s"\\]+|whsec_[A-Za-z0-9+/=]+|gsk_\w{8,}|xai-\w{8,}|AIza[\w-]{8,})/g;

/** Replaces everything that looks like a key. */
export function redactKeys(text: string): string {
  return text.replace(KEYS, (secret) => `${secret.slice(0, 6)}${MASK}`);
}

/** gw's own keys. gw stores only their hashes, so it can't search for their values. */
const OWN_KEYS = /sk-gw-[\w-]{16,}/g;

/** Masks gw's own keys, which a client may send as a name by mistake. */
export const withoutOwnKeys = (text: string): string =>
  text.includes('sk-gw-') ? text.replace(OWN_KEYS, `sk-gw-${MASK}`) : text;

/** Longer secrets are found by their blocks, so that a part of one is found too. */
const BLOCK = 8;
const MIN_BLOCKS = 2;
/** Shorter texts are treated as words, such as the key `ollama` of a local server. */
const MIN_LENGTH = 6;

/** A spelling of a secret in lower case, and the offset of a block in it. */
interface Place {
  spelling: string;
  at: number;
}

/**
 * Finds secrets by their values, ignoring case: plain, escaped for URLs and JSON, in base64, base64url and hexadecimal,
 * and every part of 15 characters or more. Takes 2 ns per character if nothing is found.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const blocks = new Map<string, Place[]>();
  const short = new Set<string>();
  /** Whether any block begins with these two characters: a quick check before each lookup. */
  const begins = new Uint8Array(1 << 14);
  for (const spelling of spellingsOf(secrets)) {
    if (spelling.length < BLOCK * MIN_BLOCKS) {
      short.add(spelling);
      continue;
    }
    for (let at = 0; at + BLOCK <= spelling.length; at += BLOCK) {
      const block = spelling.slice(at, at + BLOCK);
      const places = blocks.get(block);
      if (places) places.push({ spelling, at });
      else blocks.set(block, [{ spelling, at }]);
      begins[pairAt(block, 0)] = 1;
    }
  }
  const shortest = [...short].sort((a, b) => b.length - a.length);

  function hidden(text: string): string | undefined {
    let lower: string | undefined;
    let result = '';
    let done = 0;
    for (let at = 0; at + BLOCK <= text.length; at++) {
      if (begins[pairAt(text, at)] === 0) continue;
      lower ??= lowerCase(text);
      const places = blocks.get(lower.slice(at, at + BLOCK));
      if (!places) continue;
      const range = widest(lower, at, places);
      result += text.slice(done, Math.max(done, range.start)) + MASK;
      done = range.end;
      at = range.end - 1;
    }
    const rest = done === 0 ? text : result + text.slice(done);
    const all = shortest.reduce((masked, secret) => withoutWord(masked, secret), rest);
    return all === text ? undefined : all;
  }

  return {
    redact(text) {
      const plain = hidden(text);
      const decoded = decode(plain ?? text);
      return (decoded === undefined ? undefined : hidden(decoded)) ?? plain ?? text;
    },
  };
}

/** The daemon's current secrets, for redacting its records, events and log. */
export interface SecretStore extends Redactor {
  set(secrets: readonly string[]): void;
}

/** Prepares the search on first use, because configurations change more often than texts need redaction. */
export function createSecretStore(): SecretStore {
  let secrets: readonly string[] = [];
  let redactor: Redactor | undefined;
  return {
    set(changed) {
      secrets = changed;
      redactor = undefined;
    },
    redact(text) {
      redactor ??= createRedactor(secrets);
      return redactor.redact(text);
    },
  };
}

/** Hash of two characters, ignoring case. */
function pairAt(text: string, at: number): number {
  return (((text.charCodeAt(at) | 0x20) & 0x7f) << 7) | ((text.charCodeAt(at + 1) | 0x20) & 0x7f);
}

/** The longest range around a block that matches one of its spellings. */
function widest(text: string, at: number, places: readonly Place[]): { start: number; end: number } {
  const range = { start: at, end: at + BLOCK };
  for (const { spelling, at: from } of places) {
    let before = 0;
    while (before < Math.min(at, from) && text[at - before - 1] === spelling[from - before - 1]) before++;
    let after = BLOCK;
    while (from + after < spelling.length && text[at + after] === spelling[from + after]) after++;
    range.start = Math.min(range.start, at - before);
    range.end = Math.max(range.end, at + after);
  }
  return range;
}

function withoutWord(text: string, secret: string): string {
  const lower = lowerCase(text);
  let result = '';
  let done = 0;
  for (let at = lower.indexOf(secret); at >= 0; at = lower.indexOf(secret, done)) {
    result += text.slice(done, at) + MASK;
    done = at + secret.length;
  }
  return result + text.slice(done);
}

const NOT_ASCII = /[^\0-\x7f]/;

/** Lowercases ASCII letters only, so that every character keeps its offset. */
const lowerCase = (text: string) =>
  NOT_ASCII.test(text) ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text.toLowerCase();

/** The text with its escapes decoded; undefined if it has none. Any character of a secret may be escaped. */
function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('\\') && !text.includes('&#')) return undefined;
  const decoded = text
    .replace(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})|&#x([0-9a-f]{2});/gi, (_, a, b, c) =>
      String.fromCharCode(Number.parseInt(a ?? b ?? c, 16)),
    )
    .replace(/&#(\d{2,3});/g, (_, code) => String.fromCharCode(Number(code)));
  return decoded === text ? undefined : decoded;
}

const PREFIX = /^(?:whsec_|sk-|xox[a-z]-|\?|\/+|(?:Bearer|Basic)\s+)/i;

/** All spellings of the secrets, in lower case. */
function spellingsOf(secrets: Iterable<string>): Set<string> {
  const all = new Set<string>();
  for (const secret of secrets) {
    const bare = secret.replace(PREFIX, '');
    for (const text of new Set([secret, bare, bare.replace(/={1,2}$/, '')])) {
      if (text.length < MIN_LENGTH) continue;
      const bytes = Buffer.from(text);
      for (const spelling of [
        text,
        encodeURIComponent(text),
        text.replaceAll('/', '\\/'),
        text.replaceAll('+', '-').replaceAll('/', '_'),
        bytes.toString('hex'),
        ...base64Of(bytes),
      ])
        all.add(lowerCase(spelling));
    }
  }
  return all;
}

/** The secret inside the base64 of a longer text: one spelling per alignment of its first byte. */
function base64Of(secret: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), secret]);
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64');
    // The first characters also encode the bytes before the secret.
    const own = before === 0 ? whole : whole.slice(4);
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')].filter(({ length }) => length >= BLOCK);
  });
}
