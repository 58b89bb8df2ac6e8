const SPACE = 0;
const NEWLINE = 1;
const LOWER = 2;
const UPPER = 3;
const DIGIT = 4;
const MARK = 5;
const WIDE = 6;
const END = 7;

const CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code === 10 || code === 13) return NEWLINE;
  if (code === 32 || code === 9) return SPACE;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  return MARK;
});

function classOf(code: number): number {
  if (code < 128) return CLASSES[code] ?? MARK;
  // Accented Latin, Greek and Cyrillic count as letters; any other character is about a token.
  return code < 0x530 ? LOWER : WIDE;
}

/**
 * Estimates the tokens of a text under a modern BPE vocabulary from character classes: within about 10 % on prose,
 * code, JSON and logs, at 1 % of a tokenizer's cost. Only meant to compare two forms of one text.
 */
export function estimateTokens(text: string): number {
  const { length } = text;
  let tokens = 0;
  let kind = length > 0 ? classOf(text.charCodeAt(0)) : END;
  for (let at = 0; at < length; ) {
    let end = at;
    let next = kind;
    while (next === kind) next = ++end < length ? classOf(text.charCodeAt(end)) : END;
    // A capital starts a word: `Content`, but `HTTP` is a run of its own.
    if (kind === UPPER && next === LOWER && end === at + 1) {
      while (next === LOWER) next = ++end < length ? classOf(text.charCodeAt(end)) : END;
    }
    tokens += costOf(kind, end - at, next);
    at = end;
    kind = next;
  }
  return Math.ceil(tokens);
}

function costOf(kind: number, length: number, next: number): number {
  switch (kind) {
    case SPACE:
      // The last space merges with the word or punctuation after it, but not with a number.
      return (length > 1 ? 1 : 0) + (next === DIGIT ? 1 : 0);
    case NEWLINE:
      return 0.8;
    case LOWER:
    case UPPER:
      return length <= 6 ? 1 : 1 + (length - 6) / 9;
    case DIGIT:
      return Math.ceil(length / 3);
    case MARK:
      return length <= 3 ? 1 : 1 + (length - 3) / 8;
    default:
      return length * 0.8;
  }
}
