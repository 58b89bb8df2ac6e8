import { type Edit, replaceValue } from '../../json/edit.ts';
import { isObject, objectsIn } from '../../json/object.ts';
import { readValue, scanArray } from '../../json/scan.ts';
import { isOwnBlock } from '../../translation/carry/envelope.ts';
import type { RequestContext } from '../context/request-context.ts';

const ENABLED = Buffer.from('"enabled"');
const TOOL_RESULT = Buffer.from('"tool_result"');

/**
 * Switches thinking off for a request in the middle of a loop whose last turn another provider made: Anthropic refuses it
 * if that turn does not begin with thinking of its own, and thinks again with the next turn of the user
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks).
 */
export function lostThinkingEdits({ wire, request, translator }: RequestContext): Edit[] {
  const { bytes, members } = request;
  if (translator || wire.path !== '/messages') return [];
  const thinking = members.findLast(({ key }) => key === 'thinking');
  const list = members.findLast(({ key }) => key === 'messages');
  if (!thinking || !list || !bytes.subarray(thinking.start, thinking.end).includes(ENABLED)) return [];
  const [turn, last] = scanArray(bytes, list.start).slice(-2);
  if (!turn || !last || !bytes.subarray(last.start, last.end).includes(TOOL_RESULT)) return [];
  const message = readValue(bytes, turn);
  if (!isObject(message) || message.role !== 'assistant') return [];
  const blocks = objectsIn(message.content);
  const first = blocks.find((block) => !isOwnBlock(block));
  const isThought = first?.type === 'thinking' || first?.type === 'redacted_thinking';
  return isThought || !blocks.some(isForeign) ? [] : [replaceValue(thinking, '{"type":"disabled"}')];
}

/** Anthropic's own calls have ids such as `toolu_01A09q90qw90lq917835lq9`. */
const isForeign = (block: Record<string, unknown>): boolean =>
  isOwnBlock(block) || (block.type === 'tool_use' && !String(block.id).startsWith('toolu_'));
