import type { SeeString } from '../../../json/scan.ts';

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
export interface TypesSeen {
  unusual: boolean;
  /** The next string is the value of `type`. */
  isValue: boolean;
}

/**
 * Finds out while a body is scanned whether it contains a type that plain conversations don't have. Only such a body,
 * which is rare, has its tools read one by one. A key called `type` with another meaning costs that reading, no more.
 */
export function createTypeReader(before?: TypesSeen): { see: SeeString; seen(): TypesSeen } {
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
