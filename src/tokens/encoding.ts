/** The public encodings that gw counts exactly. */
export type Encoding = 'o200k_base' | 'cl100k_base';

// A count with the wrong tokenizer could let a request past a cap, so a name has to look like OpenAI's own.
// gpt-oss is open and many hosts rename it; its o200k_harmony differs from o200k_base by special tokens only.
const RULES: readonly (readonly [RegExp, Encoding])[] = [
  [/^(gpt-4o|chatgpt-4o|gpt-4\.[15]|gpt-5(\.\d+)?|codex|gpt-oss)(?![a-z\d.])/, 'o200k_base'],
  [/^o[134](?![a-z\d.])/, 'o200k_base'],
  [/^gpt-(4|3\.?5)(-(turbo|32k|vision|\d{4})(?![a-z\d]).*)?$/, 'cl100k_base'],
  [/^text-embedding-(3-small|3-large|ada-002)$/, 'cl100k_base'],
];

/** Each request asks, and names come from clients. */
const remembered = new Map<string, Encoding | undefined>();
const MAX_REMEMBERED = 1_000;

/** The encoding of an OpenAI model, `openai/gpt-4o` and `ft:gpt-4o:org` included; undefined if it isn't known. */
export function encodingOf(model: string): Encoding | undefined {
  const known = remembered.get(model);
  if (known !== undefined || remembered.has(model)) return known;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const encoding = findEncoding(model);
  remembered.set(model, encoding);
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
