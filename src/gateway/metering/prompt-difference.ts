import { QUOTE, sharedLength } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import type { Member } from '../../json/scan.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { CachedPrompt } from '../context/cached-prompts.ts';

/** Overlap of a prompt with an earlier one. Sizes are in bytes, those of images by their tokens. */
export interface PromptDifference {
  /** The first blocks that differ, in the prompt and in the base; the end where there is no such block. */
  at: number;
  baseAt: number;
  baseSize: number;
  /** Size of the common blocks before the first difference. */
  headSize: number;
  /** Size of the blocks in the base's cached part that the prompt lacks. */
  removedSize: number;
}

const BYTES_PER_IMAGE = 6_000;

/** Kinds of blocks that no model reads, or that leave the prompt before them unchanged. */
const UNREAD: ReadonlySet<string> = new Set(['option', 'notice', 'deferred']);

const sizeOf = ({ kind, start, end, without, inline, images }: PromptBlock): number =>
  UNREAD.has(kind) ? 0 : end - start - without - inline + images * BYTES_PER_IMAGE;

export const sizeOfAll = (blocks: readonly PromptBlock[]): number =>
  blocks.reduce((sum, block) => sum + sizeOf(block), 0);

/** Size of the base's blocks that occur anywhere in a prompt. `ids`: those of the prompt's blocks. */
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

/** The first place in which a prompt differs from the one before it. */
export interface ChangedPlace {
  /** The path in the body, such as `system[1].text`; an option's name. */
  field: string;
  /** Place in the list of messages; null outside of it. */
  messageIndex: number | null;
  /** UTF-16 units into the field's text; null where one text is not there, or no longer in memory. */
  offset: number | null;
}

/** `members`: the body's. `at`, `baseAt`: the first blocks that differ. */
export function changedPlace(
  prompt: PromptBlocks,
  members: readonly Member[],
  at: number,
  base: CachedPrompt,
  baseAt: number,
): ChangedPlace | undefined {
  const block = prompt.blocks[at];
  const member = block && members.find(({ start, end }) => start <= block.start && block.end <= end);
  if (!member) return undefined;
  const { path, messageIndex } = pathOf(prompt, member, block, at);
  const old = base.blocks[baseAt];
  const isEdit = base.bytes !== undefined && old !== undefined && old.role === block.role;
  const inside = isEdit && differenceOf(jsonOf(base.bytes, old), jsonOf(prompt.bytes, block), MAX_DEPTH);
  return inside
    ? { field: path + inside.path, messageIndex, offset: inside.offset }
    : { field: path, messageIndex, offset: null };
}

function pathOf(
  { bytes, blocks, messages }: PromptBlocks,
  { key, start }: Member,
  block: PromptBlock,
  at: number,
): { path: string; messageIndex: number | null } {
  const place = messages ? at - messages.firstBlock : -1;
  if (!messages || place < 0) {
    const messageIndex = block.role === 'user' ? 0 : null;
    if (bytes[start] === QUOTE) return { path: key, messageIndex };
    const index = blocks.filter((other) => other.start >= start && other.start < block.start).length;
    return { path: `${key}[${index}]`, messageIndex };
  }
  const messageIndex = messages.blocks.findIndex((count) => count > place);
  const path = `${key}[${messageIndex}]`;
  if (bytes[block.start] === QUOTE) return { path: `${path}.content`, messageIndex };
  if (block.end === messages.ends[messageIndex]) return { path, messageIndex };
  const opening = blocks[messages.firstBlock + (messages.blocks[messageIndex - 1] ?? 0)];
  const isPart = opening !== undefined && opening.end !== messages.ends[messageIndex];
  const first = (messages.blocks[messageIndex - 1] ?? 0) + (isPart ? 0 : 1);
  return { path: `${path}.content[${place - first}]`, messageIndex };
}

function jsonOf(bytes: Buffer | undefined, { start, end }: PromptBlock): unknown {
  return bytes && JSON.parse(bytes.toString('utf8', start, end));
}

interface Inside {
  path: string;
  offset: number | null;
}

const MAX_DEPTH = 32;

/** The first difference of two JSON values; undefined if they are equal, but for cache marks. */
function differenceOf(before: unknown, after: unknown, depth: number): Inside | undefined {
  if (before === after) return undefined;
  if (typeof before === 'string' && typeof after === 'string') {
    let offset = 0;
    while (before.charCodeAt(offset) === after.charCodeAt(offset)) offset++;
    return { path: '', offset };
  }
  if (depth === 0) return WHOLE;
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    for (let i = 0; i < length; i++) {
      const found = differenceOf(before[i], after[i], depth - 1);
      if (found) return { path: `[${i}]${found.path}`, offset: found.offset };
    }
    return undefined;
  }
  if (!isObject(before) || !isObject(after)) return WHOLE;
  for (const key of new Set([...Object.keys(after), ...Object.keys(before)])) {
    const found = key === 'cache_control' ? undefined : differenceOf(before[key], after[key], depth - 1);
    if (found) return { path: `.${key}${found.path}`, offset: found.offset };
  }
  return undefined;
}

const WHOLE: Inside = { path: '', offset: null };
