import { isObject } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import type { PromptBlock } from '../request/prompt-block.ts';
import type { WireRequest } from '../request/wire-request.ts';

/**
 * Whether the provider keeps thinking for the whole prompt. It drops thinking if the prompt ends inside a tool loop
 * whose turn doesn't begin with thinking: https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export function keepsReasoning(blocks: readonly PromptBlock[], { bytes, members }: WireRequest): boolean {
  if (!blocks.some(({ kind }) => kind === 'reasoning')) return true;
  const thinking = members.find(({ key }) => key === 'thinking');
  const value = thinking && readValue(bytes, thinking);
  if (!isObject(value) || (value.type !== 'enabled' && value.type !== 'adaptive')) return false;
  const messages = splitMessages(blocks);
  if (!messages.at(-1)?.some(isResult)) return true;
  // A message with tool results and text may count as a turn of its own.
  const texts = messages.map(
    (message) => message[0]?.role === 'user' && message.some((block) => !isResult(block)),
  );
  const pure = messages.map((message) => message[0]?.role === 'user' && !message.some(isResult));
  const beginsWithReasoning = (at: number) => messages[at + 1]?.[0]?.kind === 'reasoning';
  const lastText = texts.lastIndexOf(true, messages.length - 2);
  return beginsWithReasoning(pure.lastIndexOf(true)) && beginsWithReasoning(lastText);
}

const isResult = ({ kind }: PromptBlock): boolean => kind === 'result';

function splitMessages(blocks: readonly PromptBlock[]): PromptBlock[][] {
  const messages: PromptBlock[][] = [];
  for (const block of blocks) {
    if (block.role !== 'user' && block.role !== 'assistant') continue;
    if (block.opensMessage) messages.push([block]);
    else messages.at(-1)?.push(block);
  }
  return messages;
}
