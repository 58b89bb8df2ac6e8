import { bytesAt } from '../../json/bytes-at.ts';
import type { SeeString } from '../../json/scan.ts';
import type { CacheWrites } from '../../pricing/price-profile.ts';

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

/** The values of `type` in messages, content parts, client tools and their schemas. */
// biome-ignore format: related types share a line
const ORDINARY_TYPES: readonly string[] = [
  'object', 'string', 'array', 'number', 'integer', 'boolean', 'null',
  'function', 'custom', 'namespace', 'text', 'message', 'json_schema', 'json_object', 'grammar', 'regex',
  'image_url', 'input_audio', 'file', 'video_url', 'refusal', 'content', 'document', 'image', 'base64',
  'url', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'ephemeral', 'enabled', 'disabled',
  'adaptive', 'auto', 'any', 'tool', 'none', 'input_text', 'output_text', 'input_image', 'input_file',
  'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning',
  'summary_text', 'reasoning_text', 'local_shell_call', 'local_shell_call_output',
  'apply_patch_call', 'apply_patch_call_output',
];

const LETTER_T = 0x74;
const MAX_LENGTH = 32;
const TYPE = Buffer.from('type');

/** By first letter and length, as bytes: decoding every `type` of a body into a string costs too much. */
const BY_LETTER_AND_LENGTH: Buffer[][] = [];
for (const word of ORDINARY_TYPES) {
  const key = word.charCodeAt(0) * MAX_LENGTH + word.length;
  BY_LETTER_AND_LENGTH[key] = [...(BY_LETTER_AND_LENGTH[key] ?? []), Buffer.from(word)];
}

function isOrdinary(bytes: Buffer, start: number, end: number): boolean {
  const length = end - start;
  if (length >= MAX_LENGTH) return false;
  const words = BY_LETTER_AND_LENGTH[(bytes[start] ?? 0) * MAX_LENGTH + length];
  if (words) for (const word of words) if (isWord(bytes, start, word)) return true;
  return false;
}

function isWord(bytes: Buffer, start: number, word: Buffer): boolean {
  for (let i = 1; i < word.length; i++) if (bytes[start + i] !== word[i]) return false;
  return true;
}

function isType(bytes: Buffer, start: number, end: number): boolean {
  return end - start === 6 && isWord(bytes, start + 1, TYPE);
}

/** What a type reader knows between two strings. */
interface TypesSeen {
  unusual: boolean;
  /** The next string is the value of `type`. */
  isValue: boolean;
}

/**
 * Finds out while a body is scanned whether it contains a type that plain conversations don't have. Only such a body,
 * which is rare, has its tools read one by one. A key called `type` with another meaning costs that reading, no more.
 */
function createTypeReader(before?: TypesSeen): { see: SeeString; seen(): TypesSeen } {
  let { unusual, isValue } = before ?? { unusual: false, isValue: false };
  return {
    see(bytes, start, end) {
      if (unusual) return;
      const isKey = bytes[start + 1] === LETTER_T && isType(bytes, start, end);
      if (isValue && !isKey) unusual = !isOrdinary(bytes, start + 1, end - 1);
      isValue = isKey;
    },
    seen: () => ({ unusual, isValue }),
  };
}

const KEY = Buffer.from('"cache_control"');
const LETTER_C = 0x63;
/** Longer values are taken for the dearest: a mark has at most three short fields. */
const MAX_MARK_BYTES = 200;

/** A mark's value up to its first closing bracket, if it is the default lifetime in its usual spelling. */
const DEFAULT_MARK =
  /^\s*:\s*\{\s*(?:(?:"type"\s*:\s*"ephemeral"|"ttl"\s*:\s*(?:"5m"|null)|"scope"\s*:\s*"\w*")\s*(?:,\s*(?!\})|(?=\})))*\}/;
const NO_MARK = /^\s*:\s*null\b/;
/** The word stands in a list or as a value, not as a key. */
const NO_KEY = /^\s*[,\]}]/;

/**
 * Finds out while a body is scanned what cache writes it asks for by `cache_control`, wherever that stands: at the top,
 * in `system`, tools, content blocks or tool results, `before` included. Finds every mark, and takes any unusual spelling for the hour's:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export function createMarkReader(before: CacheWrites = 'none'): { see: SeeString; writes(): CacheWrites } {
  let writes = before;
  return {
    see(bytes, start, end) {
      if (bytes[start + 1] !== LETTER_C || writes === '1h') return;
      if (end - start !== KEY.length || !bytesAt(bytes, start, KEY)) return;
      const value = bytes.toString('latin1', end, end + MAX_MARK_BYTES);
      if (NO_MARK.test(value) || NO_KEY.test(value)) return;
      writes = DEFAULT_MARK.test(value) ? 'default' : '1h';
    },
    writes: () => writes,
  };
}
