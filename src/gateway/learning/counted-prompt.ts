import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { BaseScope, NewBase, PromptBases } from '../state/prompt-bases.ts';

/** What a provider reported for a prompt. */
interface Counted {
  tokens: number;
  /** The model's context; undefined if it is unknown. */
  contextTokens: number | undefined;
}

/** Above this share of the context the provider may have cut the prompt. */
const MOST_OF_CONTEXT = 0.9;
/** No tokenizer packs more bytes of text into a token on average: a lower count leaves something out. */
const MAX_BYTES_PER_TOKEN = 16;

/**
 * A counted prompt as a base for bounds of others; undefined if the count may not mean the whole prompt, or the prompt
 * ends with the beginning of an answer, which templates render in another way.
 */
export function countedPrompt(
  bases: Pick<PromptBases, 'numbersOf' | 'find'>,
  scope: BaseScope,
  prompt: PromptBlocks,
  { tokens, contextTokens }: Counted,
): NewBase | undefined {
  const { blocks } = prompt;
  const last = blocks.at(-1);
  if (!last || last.role === 'assistant') return undefined;
  if (contextTokens !== undefined && tokens > MOST_OF_CONTEXT * contextTokens) return undefined;
  const leastTokens = blocks.reduce((sum, block) => sum + textBytes(block), 0) / MAX_BYTES_PER_TOKEN;
  if (tokens < leastTokens || !isPlausible(bases, scope, blocks, tokens)) return undefined;
  return {
    blocks,
    tokens,
    bytes: prompt.bytes.length,
    trailingSpace: trailingSpace(prompt),
    keepsReasoning: prompt.keepsReasoning,
  };
}

/** Bytes of text that the model surely reads. */
function textBytes({ kind, start, end, images, without }: PromptBlock): number {
  const isRead =
    images === 0 && (kind === 'system' || kind === 'user' || kind === 'assistant' || kind === 'result');
  return isRead ? end - start - without : 0;
}

/** False for a count below that of a prompt of which this one has every block: some providers leave out cached input. */
function isPlausible(
  bases: Pick<PromptBases, 'numbersOf' | 'find'>,
  scope: BaseScope,
  blocks: readonly PromptBlock[],
  tokens: number,
): boolean {
  const numbers = bases.numbersOf(blocks);
  return bases.find(scope).every((base) => base.tokens <= tokens || !contains(numbers, base.blocks));
}

/** Whether a prompt has every block of a base, in order. */
function contains(prompt: Int32Array, base: Int32Array): boolean {
  let j = 0;
  for (let i = 0; i < prompt.length && j < base.length; i++) if (prompt[i] === base[j]) j++;
  return j === base.length;
}

const SPACE_AT_END = /(?<!\\[nrt]|\s)(?:\\[nrt]|\s)+(?=")/g;

/** The longest run of white space at the end of any string in the last block: a template may have removed it there. */
function trailingSpace({ bytes, blocks }: PromptBlocks): number {
  const last = blocks.at(-1);
  if (!last) return 0;
  let most = 0;
  for (const [run] of bytes.toString('latin1', last.start, last.end).matchAll(SPACE_AT_END))
    most = Math.max(most, run.length);
  return most;
}
