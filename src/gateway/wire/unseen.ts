/** Input that is billed by another measure than the request's bytes: what a URL, a file or an earlier answer holds. */
export interface Unseen {
  images: number;
  /** There may be as much more as the model can take in. */
  context: boolean;
}

export const NOTHING_UNSEEN: Unseen = Object.freeze({ images: 0, context: false });

/** How many times a mark stands in the bytes. Quotes within JSON strings are escaped, so no text looks like one. */
export function countMarks(bytes: Buffer, mark: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) count++;
  return count;
}

/** Whether one of the marks stands in the bytes. */
export function holdsMark(bytes: Buffer, marks: readonly Buffer[]): boolean {
  return marks.some((mark) => bytes.indexOf(mark) >= 0);
}

const ESCAPE = Buffer.from('\\u00');
const DIGIT_4 = 0x34;
const DIGIT_7 = 0x37;

/** Whether ASCII letters are written as escapes, as no encoder writes them: the marks may hide in such. */
export function spellsLetters(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(ESCAPE); at >= 0; at = bytes.indexOf(ESCAPE, at + 1)) {
    const high = bytes[at + ESCAPE.length] ?? 0;
    if (high >= DIGIT_4 && high <= DIGIT_7) return true;
  }
  return false;
}

/** Bounds of what providers bill for one image; OpenAI multiplies the tokens of images for gpt-4o-mini. */
const TOKENS_PER_IMAGE = 12_000;
const TOKENS_PER_IMAGE_4O_MINI = 48_200;
/** A model whose context size is unknown. */
const UNKNOWN_CONTEXT = 1_000_000;

/** The bound of the unseen input in tokens of a model that takes in `contextTokens`. */
export function unseenTokens({ images, context }: Unseen, model: string, contextTokens?: number): number {
  const perImage = /4o-mini/.test(model) ? TOKENS_PER_IMAGE_4O_MINI : TOKENS_PER_IMAGE;
  return images * perImage + (context ? (contextTokens ?? UNKNOWN_CONTEXT) : 0);
}
