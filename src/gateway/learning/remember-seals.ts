import { isObject } from '../../json/object.ts';
import type { TokenUsage } from '../../usage.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import { sealOf } from '../../wire/request/seals.ts';
import type { Relay } from '../answer/relay.ts';
import type { PromptBases } from '../state/prompt-bases.ts';

const SEALED_KEYS = ['"encrypted_content"', '"signature', '"redacted_thinking"'].map((text) =>
  Buffer.from(text),
);

/** Remembers what an answer was billed for the sealed reasoning in it, which the client will send back. */
export function rememberSeals(
  bases: Pick<PromptBases, 'rememberSeal'>,
  relay: Pick<Relay, 'isStream' | 'lastEvents' | 'unsent'>,
  { reasoningTokens, outputTokens }: TokenUsage,
): void {
  const answer = relay.isStream ? relay.lastEvents : relay.unsent;
  if (!answer || !SEALED_KEYS.some((mark) => answer.indexOf(mark) >= 0)) return;
  // Not all providers say which part of the output is reasoning.
  const tokens = reasoningTokens > 0 ? reasoningTokens : outputTokens;
  for (const block of relay.isStream ? streamedBlocks(answer) : blocksOf(answer)) {
    const seal = sealOf(block);
    if (seal) bases.rememberSeal(seal.id, tokens);
  }
}

type Fields = Record<string, unknown>;

function blocksOf(answer: Buffer): Fields[] {
  const { content, output } = parseObject(answer.toString('utf8')) ?? {};
  return [content, output].flatMap((list) => (Array.isArray(list) ? list.filter(isObject) : []));
}

/** The items that a stream has finished, and the blocks of a message, put together from their deltas. */
function streamedBlocks(events: Buffer): Fields[] {
  const blocks = new Map<unknown, Fields>();
  const items: Fields[] = [];
  for (const { type, index, item, content_block, delta } of valuesIn(events)) {
    if (type === 'response.output_item.done' && isObject(item)) items.push(item);
    if (type === 'content_block_start' && isObject(content_block)) blocks.set(index, { ...content_block });
    const block = blocks.get(index);
    if (type !== 'content_block_delta' || !block || !isObject(delta)) continue;
    if (typeof delta.thinking === 'string') block.thinking = `${block.thinking ?? ''}${delta.thinking}`;
    if (typeof delta.signature === 'string') block.signature = `${block.signature ?? ''}${delta.signature}`;
  }
  return [...items, ...blocks.values()];
}
