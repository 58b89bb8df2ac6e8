import { bytesAt } from '../../json/bytes.ts';
import type { SeeString } from '../../json/scan.ts';
import type { CacheWrites } from '../../pricing/price-profile.ts';

/** Input that may have more tokens than the request has bytes: the contents of a URL, a file or an earlier response. */
export interface NonTextInput {
  images: number;
  /** The input may fill the model's context. */
  context: boolean;
  /** `context` is true only because of a field that refers to stored input. The body itself has none. */
  onlyStored?: boolean;
}

export const TEXT_ONLY: NonTextInput = Object.freeze({ images: 0, context: false });

/** Strings that mark non-text input. A trailing `*` matches any string with that prefix. */
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

/** Findings from the strings of a body, up to some position. */
export interface StringsSeen {
  nonText: NonTextInput;
  /** Whether there are types that plain conversations don't have, such as a server tool's. */
  types: TypesSeen;
  /** The cache writes that the body requests. */
  cacheWrites: CacheWrites;
}

/** Inspects the strings of one body during its scan. */
interface StringReader {
  see: SeeString;
  seen(): StringsSeen;
}

export interface StringReaders {
  /** Readers of the same kind look for the same strings. */
  kind: string;
  /** Creates the reader of a body. `before` contains the findings up to its start position. */
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
 * Upper bounds of the tokens billed for one image. Qwen's visual models read up to 16,384 by default
 * (https://github.com/vllm-project/vllm/issues/20123). OpenAI's read 10,000 patches at a factor of 1.72 if the request
 * asks for the original. OpenAI bills far more for gpt-4o-mini.
 */
const TOKENS_PER_IMAGE = 16_384;
const TOKENS_PER_IMAGE_OF_MAKERS = 12_000;
const TOKENS_PER_ORIGINAL = 17_200;
const TOKENS_PER_IMAGE_4O_MINI = 48_200;
/** Models whose makers document the cost of an image. */
const MAKERS_MODEL = /^(?:.*\/)?(?:claude|gpt-|chatgpt|o[134]|codex|gemini)/i;
const ORIGINAL = Buffer.from('"original"');
/** Context size assumed for a model whose size is unknown, in tokens. */
export const UNKNOWN_CONTEXT = 1_000_000;

/** Upper bound of the tokens of one image. `bytes` is the request, which may ask for a finer level of detail. */
export function imageTokens(model: string, bytes?: Buffer): number {
  if (/4o-mini/.test(model)) return TOKENS_PER_IMAGE_4O_MINI;
  if (!MAKERS_MODEL.test(model)) return TOKENS_PER_IMAGE;
  return bytes && bytes.indexOf(ORIGINAL) >= 0 ? TOKENS_PER_ORIGINAL : TOKENS_PER_IMAGE_OF_MAKERS;
}

/** Upper bound of non-text input in tokens, for a model with `contextTokens` of context. */
export function nonTextTokens(
  { images, context }: NonTextInput,
  perImage: number,
  contextTokens?: number,
): number {
  return images * perImage + (context ? (contextTokens ?? UNKNOWN_CONTEXT) : 0);
}

/** Values of `type` in messages, content parts, client tools and their schemas. */
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

/** By first letter and length, as bytes: decoding every `type` of a body into a string would cost too much. */
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

/** A type reader's state between two strings. */
interface TypesSeen {
  unusual: boolean;
  /** The next string is the value of `type`. */
  isValue: boolean;
}

/**
 * Detects a `type` that plain conversations don't have, during the scan of a body. Such bodies are rare, and only their
 * tools are read one by one. A key called `type` with another meaning only costs that extra reading.
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
/** Longer values count as the dearest kind: a real marker has at most three short fields. */
const MAX_MARK_BYTES = 200;

/** A marker's value up to its closing brace, if it has the default lifetime in the usual spelling. */
const DEFAULT_MARK =
  /^\s*:\s*\{\s*(?:(?:"type"\s*:\s*"ephemeral"|"ttl"\s*:\s*(?:"5m"|null)|"scope"\s*:\s*"\w*")\s*(?:,\s*(?!\})|(?=\})))*\}/;
const NO_MARK = /^\s*:\s*null\b/;
/** The string is a list element or a value, not a key. */
const NO_KEY = /^\s*[,\]}]/;

/**
 * Detects the cache writes that `cache_control` requests, during the scan of a body. The marker may be at the top
 * level, in `system`, tools, content blocks or tool results. `before` is the result of earlier bytes. Every marker
 * counts, and an unusual spelling counts as the 1-hour lifetime:
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
