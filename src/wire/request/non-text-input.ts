import { bytesAt } from '../../json/bytes-at.ts';
import type { SeeString } from '../../json/scan.ts';
import type { CacheWrites } from '../../pricing/price-profile.ts';
import { createMarkReader } from './scan/cache-marks.ts';
import { createTypeReader, type TypesSeen } from './scan/unusual-types.ts';

/** Input that the size of the request doesn't bound: the contents of a URL, a file or an earlier answer. */
export interface NonTextInput {
  images: number;
  /** There may be enough of it to fill the model's context. */
  context: boolean;
  /** `context` is only for what a field refers to; the body has nothing of the kind. */
  onlyStored?: boolean;
}

export const TEXT_ONLY: NonTextInput = Object.freeze({ images: 0, context: false });

/** The strings that mark non-text input. A trailing `*` matches any string with that prefix. */
export interface NonTextMarkers {
  images: readonly string[];
  context: readonly string[];
}

interface Marker {
  bytes: Buffer;
  isExact: boolean;
  isImage: boolean;
}

const NO_MARKERS: Marker[] = [];

/** What the strings of a body tell, up to some place in it. */
export interface StringsSeen {
  nonText: NonTextInput;
  /** The types that plain conversations don't have, such as a server tool's. */
  types: TypesSeen;
  /** The cache writes that the body asks for. */
  cacheWrites: CacheWrites;
}

/** Inspects the strings of one body while it is scanned. */
interface StringReader {
  see: SeeString;
  seen(): StringsSeen;
}

export interface StringReaders {
  /** Readers of one kind look for the same strings. */
  kind: string;
  /** Creates the reader of a body; `before` is what was seen up to where it begins. */
  create(before: StringsSeen | undefined): StringReader;
}

export function stringReaders({ images, context }: NonTextMarkers): StringReaders {
  /** By first letter, which rules out most strings. */
  const markers: (Marker[] | undefined)[] = new Array(256);
  for (const text of [...images, ...context]) {
    const isExact = !text.endsWith('*');
    const bytes = Buffer.from(isExact ? `"${text}"` : `"${text.slice(0, -1)}`);
    const letter = bytes[1] ?? 0;
    markers[letter] = [
      ...(markers[letter] ?? NO_MARKERS),
      { bytes, isExact, isImage: images.includes(text) },
    ];
  }
  const create: StringReaders['create'] = (before) => {
    let { images: imageCount, context: hasContext } = before?.nonText ?? TEXT_ONLY;
    const types = createTypeReader(before?.types);
    const marks = createMarkReader(before?.cacheWrites);
    return {
      see(bytes, start, end) {
        types.see(bytes, start, end);
        marks.see(bytes, start, end);
        const candidates = markers[bytes[start + 1] ?? 0];
        if (!candidates) return;
        const marker = candidates.find((each) => isAt(bytes, start, end, each));
        if (marker?.isImage) imageCount++;
        else if (marker) hasContext = true;
      },
      seen: () => ({
        nonText: imageCount === 0 && !hasContext ? TEXT_ONLY : { images: imageCount, context: hasContext },
        types: types.seen(),
        cacheWrites: marks.writes(),
      }),
    };
  };
  return { kind: [...images, '', ...context].join(' '), create };
}

function isAt(bytes: Buffer, start: number, end: number, marker: Marker): boolean {
  const markerEnd = start + marker.bytes.length;
  if (marker.isExact ? markerEnd !== end : markerEnd > end) return false;
  return bytesAt(bytes, start, marker.bytes);
}

/**
 * Upper bounds of the tokens billed for one image: Qwen's visual models read up to 16,384 by default
 * (https://github.com/vllm-project/vllm/issues/20123), OpenAI's 10,000 patches at a factor of 1.72 where the request asks
 * for the original. OpenAI bills far more of them for gpt-4o-mini.
 */
const TOKENS_PER_IMAGE = 16_384;
const TOKENS_PER_IMAGE_OF_MAKERS = 12_000;
const TOKENS_PER_ORIGINAL = 17_200;
const TOKENS_PER_IMAGE_4O_MINI = 48_200;
/** Models whose makers say what an image costs. */
const MAKERS_MODEL = /^(?:.*\/)?(?:claude|gpt-|chatgpt|o[134]|codex|gemini)/i;
const ORIGINAL = Buffer.from('"original"');
/** Context size assumed for a model whose size is unknown, in tokens. */
export const UNKNOWN_CONTEXT = 1_000_000;

/** Upper bound of the tokens of one image. A request's bytes tell whether it asks for a finer level of detail. */
export function imageTokens(model: string, bytes?: Buffer): number {
  if (/4o-mini/.test(model)) return TOKENS_PER_IMAGE_4O_MINI;
  if (!MAKERS_MODEL.test(model)) return TOKENS_PER_IMAGE;
  return bytes && bytes.indexOf(ORIGINAL) >= 0 ? TOKENS_PER_ORIGINAL : TOKENS_PER_IMAGE_OF_MAKERS;
}

/** Upper bound of non-text input, in tokens, for a model with a context of `contextTokens`. */
export function nonTextTokens(
  { images, context }: NonTextInput,
  perImage: number,
  contextTokens?: number,
): number {
  return images * perImage + (context ? (contextTokens ?? UNKNOWN_CONTEXT) : 0);
}
