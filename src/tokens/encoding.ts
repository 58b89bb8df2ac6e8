/** The public encodings that gw counts exactly. */
export type Encoding = 'o200k_base' | 'cl100k_base';

// A count with the wrong tokenizer could let a request exceed a cap, so a name must look like one of OpenAI's.
// gpt-oss has open weights and many hosts rename it. Its o200k_harmony differs from o200k_base in special tokens only.
const RULES: readonly (readonly [RegExp, Encoding])[] = [
  [/^(gpt-4o|chatgpt-4o|gpt-4\.[15]|gpt-5(\.\d+)?|codex|gpt-oss)(?![a-z\d.])/, 'o200k_base'],
  [/^o[134](?![a-z\d.])/, 'o200k_base'],
  [/^gpt-(4|3\.?5)(-(turbo|32k|vision|\d{4})(?![a-z\d]).*)?$/, 'cl100k_base'],
  [/^text-embedding-(3-small|3-large|ada-002)$/, 'cl100k_base'],
];

/** Looked up for every request. Bounded, because names come from clients. */
const cache = new Map<string, Encoding | undefined>();
const MAX_CACHED = 1_000;

/** The encoding of an OpenAI model, `openai/gpt-4o` and `ft:gpt-4o:org` included; undefined if unknown. */
export function encodingOf(model: string): Encoding | undefined {
  const cached = cache.get(model);
  if (cached !== undefined || cache.has(model)) return cached;
  if (cache.size >= MAX_CACHED) cache.clear();
  const encoding = findEncoding(model);
  cache.set(model, encoding);
  return encoding;
}

function findEncoding(model: string): Encoding | undefined {
  const name = model
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/^(ft:|openai\.)/, '');
  const [base = ''] = name.split(':');
  return RULES.find(([pattern]) => pattern.test(base))?.[1];
}

/** Upper bound of a text's tokens in any byte-level encoding: its UTF-8 bytes, since every token has at least one. */
export function tokenBound(text: string | Uint8Array): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.byteLength;
}
