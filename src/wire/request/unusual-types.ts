import type { SeeString } from '../../json/scan.ts';
import { spellsLetters } from './escaped-letters.ts';

/** What stands behind `"type"` in messages, their parts, tools that the client runs, and the schemas of those. */
const ORDINARY: readonly string[] = [
  ...['object', 'string', 'array', 'number', 'integer', 'boolean', 'null'],
  ...['function', 'custom', 'namespace', 'text', 'message', 'json_schema', 'json_object', 'grammar', 'regex'],
  ...['image_url', 'input_audio', 'file', 'video_url', 'refusal', 'content', 'document', 'image', 'base64'],
  ...['url', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'ephemeral', 'enabled', 'disabled'],
  ...['adaptive', 'auto', 'any', 'tool', 'none', 'input_text', 'output_text', 'input_image', 'input_file'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning'],
  ...['summary_text', 'reasoning_text', 'local_shell_call', 'local_shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output'],
];

const LETTER_T = 0x74;
const BACKSLASH = 0x5c;
const MAX_LENGTH = 32;
const TYPE = Buffer.from('type');

/** By first letter and length, as bytes: every type in a body is looked at, and to make a text of it would be felt. */
const BY_LETTER_AND_LENGTH: Buffer[][] = [];
for (const word of ORDINARY) {
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

/**
 * Tells whether a body has anything of a type that no plain conversation has. Nearly none has, so that its tools need
 * not be read one by one; a key called `type` that means something else only costs that look.
 */
export function createTypeReader(): { see: SeeString; hasOdd(): boolean } {
  let isValue = false;
  let odd = false;
  return {
    see(bytes, start, end) {
      if (odd) return;
      const letter = bytes[start + 1];
      const isKey = letter === LETTER_T && isType(bytes, start, end);
      if (isValue && !isKey) odd = !isOrdinary(bytes, start + 1, end - 1);
      isValue = isKey;
      if (isKey || (letter !== LETTER_T && letter !== BACKSLASH)) return;
      if (spellsLetters(bytes, start, end)) odd = true;
    },
    hasOdd: () => odd,
  };
}
