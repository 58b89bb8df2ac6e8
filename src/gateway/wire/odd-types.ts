import type { SeeString } from '../../json/scan.ts';
import { spellsLetters } from './spells-letters.ts';

/** What stands behind `"type"` in messages, their parts, tools that the client runs, and the schemas of those. */
const ORDINARY: ReadonlySet<string> = new Set([
  ...['object', 'string', 'array', 'number', 'integer', 'boolean', 'null', 'type'],
  ...['function', 'custom', 'namespace', 'text', 'message', 'json_schema', 'json_object', 'grammar', 'regex'],
  ...['image_url', 'input_audio', 'file', 'video_url', 'refusal', 'content', 'document', 'image', 'base64'],
  ...['url', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'ephemeral', 'enabled', 'disabled'],
  ...['adaptive', 'auto', 'any', 'tool', 'none', 'input_text', 'output_text', 'input_image', 'input_file'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'reasoning'],
  ...['summary_text', 'reasoning_text', 'local_shell_call', 'local_shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output'],
]);

const LETTER_T = 0x74;
const BACKSLASH = 0x5c;
const TYPE = Buffer.from('"type"');

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
      if (isValue) {
        isValue = false;
        odd = !ORDINARY.has(bytes.toString('latin1', start + 1, end - 1));
      }
      const letter = bytes[start + 1];
      if (letter !== LETTER_T && letter !== BACKSLASH) return;
      if (end - start === TYPE.length && bytes.compare(TYPE, 0, TYPE.length, start, end) === 0)
        isValue = true;
      else if (spellsLetters(bytes, start, end)) odd = true;
    },
    hasOdd: () => odd,
  };
}
