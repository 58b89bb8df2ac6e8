import { isObject } from '../../json/object.ts';
import type { Member } from '../../json/scan.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { CachedPrompt } from '../context/cached-prompts.ts';

/** Where a prompt differs first from the one before it. */
export interface ChangedPlace {
  /** The path in the body, such as `system[1].text`; an option's name. */
  field: string;
  /** Place in the list of messages; null outside of it. */
  messageIndex: number | null;
  /** UTF-16 units into the field's text; null where one text is not there, or no longer in memory. */
  offset: number | null;
}

const QUOTE = 0x22;

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
