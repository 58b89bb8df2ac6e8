import type { SeeString } from '../../json/scan.ts';
import { spellsLetters } from './escaped-letters.ts';
import { createTypeReader } from './unusual-types.ts';

/** Input that is billed by another measure than the request's bytes: what a URL, a file or an earlier answer holds. */
export interface NonTextInput {
  images: number;
  /** There may be as much more as the model can take in. */
  context: boolean;
}

export const TEXT_ONLY: NonTextInput = Object.freeze({ images: 0, context: false });

/** The strings that tell images and the rest: whole ones, or with `*` behind it how they begin. */
export interface NonTextWords {
  images: readonly string[];
  context: readonly string[];
}

interface Word {
  bytes: Buffer;
  isWhole: boolean;
  isImage: boolean;
}

const BACKSLASH = 0x5c;
const NO_WORDS: Word[] = [];

/** Looks at the strings of one body while it is scanned. */
export interface NonTextReader {
  see: SeeString;
  nonText(): NonTextInput;
  /** Whether anything is of a type that no plain conversation has: a provider's own tools, for one. */
  hasOddType(): boolean;
}

/** Makes readers that find the words while a body is scanned; one for each body. No text of a message looks like one. */
export function nonTextReaders({ images, context }: NonTextWords): () => NonTextReader {
  /** By their first letter: most strings begin with none of these. An escape may stand for any. */
  const words: (Word[] | undefined)[] = new Array(256);
  words[BACKSLASH] = [];
  for (const text of [...images, ...context]) {
    const isWhole = !text.endsWith('*');
    const bytes = Buffer.from(isWhole ? `"${text}"` : `"${text.slice(0, -1)}`);
    const letter = bytes[1] ?? 0;
    words[letter] = [...(words[letter] ?? NO_WORDS), { bytes, isWhole, isImage: images.includes(text) }];
  }
  return () => {
    let imagesFound = 0;
    let contextFound = false;
    const types = createTypeReader();
    return {
      see(bytes, start, end) {
        types.see(bytes, start, end);
        const candidates = words[bytes[start + 1] ?? 0];
        if (!candidates) return;
        const word = candidates.find((each) => isAt(bytes, start, end, each));
        if (word?.isImage) imagesFound++;
        else if (word || spellsLetters(bytes, start, end)) contextFound = true;
      },
      nonText: () =>
        imagesFound === 0 && !contextFound ? TEXT_ONLY : { images: imagesFound, context: contextFound },
      hasOddType: () => contextFound || types.hasOdd(),
    };
  };
}

function isAt(bytes: Buffer, start: number, end: number, word: Word): boolean {
  const wordEnd = start + word.bytes.length;
  if (word.isWhole ? wordEnd !== end : wordEnd > end) return false;
  return word.bytes.compare(bytes, start, wordEnd) === 0;
}

/** Bounds of what providers bill for one image; OpenAI multiplies the tokens of images for gpt-4o-mini. */
const TOKENS_PER_IMAGE = 12_000;
const TOKENS_PER_IMAGE_4O_MINI = 48_200;
/** A model whose context size is unknown. */
export const UNKNOWN_CONTEXT = 1_000_000;

/** The bound of the unseen input in tokens of a model that takes in `contextTokens`. */
export function nonTextTokens(
  { images, context }: NonTextInput,
  model: string,
  contextTokens?: number,
): number {
  const perImage = /4o-mini/.test(model) ? TOKENS_PER_IMAGE_4O_MINI : TOKENS_PER_IMAGE;
  return images * perImage + (context ? (contextTokens ?? UNKNOWN_CONTEXT) : 0);
}
