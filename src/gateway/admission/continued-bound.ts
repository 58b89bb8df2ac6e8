import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { StoredResponse } from '../state/continued-responses.ts';
import { FOR_OPTION, PER_BLOCK, PER_MESSAGE } from './edit-bound.ts';

/** The options of a prompt: equal for prompts that are rendered alike. */
export function optionsOf({ blocks }: Pick<PromptBlocks, 'blocks'>): string {
  return blocks.flatMap(({ kind, id }) => (kind === 'option' ? [id] : [])).join(' ');
}

/** Options of a response: tool_choice, text and reasoning. */
const MAX_OPTIONS = 3;

/**
 * Upper bound of the input of a request that continues a response: that response's prompt and answer, and all that is
 * new. `ownTokens` bounds the request by itself. Undefined where the answer may be joined with what follows it.
 */
export function continuedBound(
  { inputTokens, outputTokens, reasoningTokens, trailingSpace, options }: StoredResponse,
  prompt: PromptBlocks,
  ownTokens: number,
): number | undefined {
  const { blocks } = prompt;
  if (
    blocks.find(({ role }) => role !== 'option' && role !== 'tool' && role !== 'system')?.role === 'assistant'
  )
    return undefined;
  const around = blocks.length * (PER_BLOCK + PER_MESSAGE);
  // Other options may bring reasoning back that the provider had left out.
  const changed = options === optionsOf(prompt) ? 0 : MAX_OPTIONS * FOR_OPTION + reasoningTokens;
  return inputTokens + outputTokens + trailingSpace + ownTokens + around + changed;
}
