import { isObject } from '../../json/object.ts';
import { type Member, readValue } from '../../json/scan.ts';
import { type BlockReader, UnboundedInput } from '../request/prompt-blocks.ts';

const COMPACTION = Buffer.from('compact');

/**
 * Context edits shorten the prompt, except a compaction: for that the model reads the prompt once more. Claude Code's
 * edits keep the whole prompt. https://platform.claude.com/docs/en/build-with-claude/context-editing
 */
export function readContextEdits(reader: BlockReader, member: Member): void {
  const { bytes } = reader;
  if (bytes.subarray(member.start, member.end).indexOf(COMPACTION) >= 0)
    throw new UnboundedInput('a compaction');
  const value = readValue(bytes, member);
  const edits = isObject(value) ? value.edits : undefined;
  if (Array.isArray(edits) && edits.every(keepsAll)) reader.addOption(member);
  else reader.isComparable = false;
}

function keepsAll(edit: unknown): boolean {
  return isObject(edit) && edit.type === 'clear_thinking_20251015' && edit.keep === 'all';
}
