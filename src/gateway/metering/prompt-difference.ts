import { sharedLength } from '../../json/shared-length.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { CachedPrompt } from '../context/cached-prompts.ts';

/** What a prompt has in common with an earlier one. Sizes are in bytes, those of images by their tokens. */
export interface PromptDifference {
  /** The first blocks that differ, in the prompt and in the base; the end where there is no such block. */
  at: number;
  baseAt: number;
  baseSize: number;
  /** Of the common blocks before the first difference. */
  headSize: number;
  /** Of the blocks in the base's cached part that the prompt lacks. */
  removedSize: number;
}

const BYTES_PER_IMAGE = 6_000;

/** What no model reads, or changes nothing of the prompt before it. */
const UNREAD: ReadonlySet<string> = new Set(['option', 'notice', 'deferred']);

const sizeOf = ({ kind, start, end, without, inline, images }: PromptBlock): number =>
  UNREAD.has(kind) ? 0 : end - start - without - inline + images * BYTES_PER_IMAGE;

export const sizeOfAll = (blocks: readonly PromptBlock[]): number =>
  blocks.reduce((sum, block) => sum + sizeOf(block), 0);

/** How much of a base a prompt has, wherever it stands. `ids`: those of the prompt's blocks. */
export function commonSize(base: CachedPrompt, ids: ReadonlySet<string>): number {
  return base.blocks.reduce((sum, block) => (ids.has(block.id) ? sum + sizeOf(block) : sum), 0);
}

/** Compares a prompt with an earlier one. Blocks that only moved are in both. */
export function comparePrompts(
  base: CachedPrompt,
  prompt: PromptBlocks,
  ids: ReadonlySet<string>,
): PromptDifference {
  const { at, baseAt, headSize } = commonHead(base.blocks, prompt.blocks);
  const baseSize = sizeOfAll(base.blocks);
  const cachedSize = (baseSize * base.cachedTokens) / base.inputTokens;
  const baseIds = new Set(base.blocks.map(({ id }) => id));
  const added = prompt.blocks.slice(at).filter((block) => sizeOf(block) > 0 && !baseIds.has(block.id));
  let position = headSize;
  let removedSize = 0;
  for (let j = baseAt; j < base.blocks.length && position < cachedSize; j++) {
    const block = base.blocks[j];
    const size = block ? sizeOf(block) : 0;
    if (!block || size === 0) continue;
    if (!ids.has(block.id)) {
      const twin = added.findIndex(({ role }) => role === block.role);
      const [edited] = twin < 0 ? [] : added.splice(twin, 1);
      const kept = edited ? keptSize(base, block, prompt, edited) : 0;
      removedSize += Math.max(0, Math.min(size, cachedSize - position) - kept);
    }
    position += size;
  }
  return { at, baseAt, baseSize, headSize, removedSize };
}

function commonHead(
  base: readonly PromptBlock[],
  prompt: readonly PromptBlock[],
): Pick<PromptDifference, 'at' | 'baseAt' | 'headSize'> {
  let at = 0;
  let baseAt = 0;
  let headSize = 0;
  for (;;) {
    at = nextRead(prompt, at);
    baseAt = nextRead(base, baseAt);
    const block = prompt[at];
    if (!block || block.id !== base[baseAt]?.id) return { at, baseAt, headSize };
    headSize += sizeOf(block);
    at++;
    baseAt++;
  }
}

function nextRead(blocks: readonly PromptBlock[], from: number): number {
  let at = from;
  while (at < blocks.length && UNREAD.has(blocks[at]?.kind ?? '')) at++;
  return at;
}

/**
 * How much of a block is left in what replaced it: the text before and behind the change, if that is most of it. Where the
 * text is gone, tools and instructions are taken to have changed little, and messages to be others.
 */
function keptSize(base: CachedPrompt, old: PromptBlock, prompt: PromptBlocks, edited: PromptBlock): number {
  const least = Math.min(sizeOf(old), sizeOf(edited));
  if (!base.bytes) return old.role === 'tool' || old.role === 'system' ? least : 0;
  const before = base.bytes.subarray(old.start, old.end);
  const after = prompt.bytes.subarray(edited.start, edited.end);
  const head = sharedLength(before, after);
  const most = Math.min(before.length, after.length) - head;
  let tail = 0;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return head + tail > least / 2 ? Math.min(head + tail, least) : 0;
}
