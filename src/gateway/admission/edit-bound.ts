import { BLOCK_KINDS, type BlockKind, type PromptBlock } from '../../wire/request/prompt-block.ts';
import type { PromptBase } from '../state/prompt-bases.ts';

/** A prompt to find a bound for, and upper bounds of what its blocks add. */
export interface MeasuredPrompt {
  blocks: readonly PromptBlock[];
  /** The blocks' numbers in the bases; 0 for a block that no base has. */
  numbers: Int32Array;
  /** Tokens of a block that the provider hasn't counted yet; each is asked for only where it is needed. */
  tokensOf(at: number): number;
  /** Quick lower bound of `tokensOf` for a run of blocks. `to` is exclusive. */
  leastTokens(from: number, to: number): number;
  /** Tokens of the definitions that a reference to a tool stands for. */
  definitionTokens(name: string): number;
  /** Tokens of one image. */
  imageTokens: number;
}

/** Tokens around a request: dates, budgets, the beginning of an answer. */
const PER_REQUEST = 64;
/** Tokens around a message: its role, and what is added at its end. */
export const PER_MESSAGE = 32;
/** Tokens around a block, such as the warning after a tool's result of how much context is left. */
export const PER_BLOCK = 48;
/**
 * Tokens by which a template may react to tools: instructions, definitions of the provider's own. They are about 2,200 for
 * Anthropic's computer, editor and shell tools.
 */
export const FOR_TOOLS = 2_500;
/** Tokens by which a template may react to another option. */
export const FOR_OPTION = 1_000;

/**
 * The least of the bounds that the bases give for a prompt; undefined without bases. A small base may give a lower one
 * than a base that shares more.
 */
export function editBound(
  prompt: MeasuredPrompt,
  bases: readonly PromptBase[],
): { tokens: number; base: PromptBase } | undefined {
  let best: { tokens: number; base: PromptBase } | undefined;
  const align = createAlign(prompt.numbers);
  const special = specialBlocks(prompt.blocks);
  for (const base of bases) {
    // Removed blocks lower no bound, so no base gives less than its own tokens.
    if (best && base.tokens >= best.tokens) continue;
    const tokens = boundBy(prompt, special, base, align(base.blocks), best?.tokens);
    if (tokens !== undefined && (!best || tokens < best.tokens)) best = { tokens, base };
  }
  return best;
}

/** Places of the few blocks that matter even where they are common. */
interface SpecialBlocks {
  reasoning: number[];
  referring: number[];
  addressed: number[];
}

function specialBlocks(blocks: readonly PromptBlock[]): SpecialBlocks {
  const special: SpecialBlocks = { reasoning: [], referring: [], addressed: [] };
  blocks.forEach(({ kind, references, addressed }, i) => {
    if (kind === 'reasoning') special.reasoning.push(i);
    if (references) special.referring.push(i);
    if (addressed > 0) special.addressed.push(i);
  });
  return special;
}

/** Difference between a prompt and a base. */
interface Difference {
  /** Upper bound of the tokens that the changed places add. */
  tokens: number;
  changesTools: boolean;
  /** Blocks are gone without which reasoning may come back that the template had left out. */
  restoresReasoning: boolean;
  /** The first changed place that the model reads. */
  firstPlace: number;
}

/**
 * The base's tokens and what the prompt has beyond it. What is gone from the base is not subtracted, as nobody knows its
 * tokens. `places`: for each block its place in the base, or -1. Undefined as soon as it is sure not to be below `limit`.
 */
function boundBy(
  prompt: MeasuredPrompt,
  special: SpecialBlocks,
  base: PromptBase,
  places: Int32Array,
  limit = Number.POSITIVE_INFINITY,
): number | undefined {
  const { blocks } = prompt;
  const difference: Difference = {
    tokens: 0,
    changesTools: false,
    restoresReasoning: !base.keepsReasoning,
    firstPlace: blocks.length,
  };
  let before = -1;
  let baseBefore = -1;
  let isSame = true;
  for (let i = 0; i <= blocks.length; i++) {
    const place = i === blocks.length ? base.blocks.length : (places[i] ?? -1);
    if (place < 0) continue;
    if (i > before + 1 || place > baseBefore + 1) {
      isSame = false;
      addPlace(
        difference,
        prompt,
        base,
        { before, after: i, baseBefore, baseAfter: place },
        limit - base.tokens,
      );
      if (base.tokens + difference.tokens >= limit) return undefined;
    }
    before = i;
    baseBefore = place;
  }
  const addressed = addressedImages(prompt, special, places);
  if (isSame) return base.tokens + addressed;
  return (
    base.tokens +
    addressed +
    PER_REQUEST +
    base.trailingSpace +
    difference.tokens +
    (difference.changesTools ? FOR_TOOLS : 0) +
    restoredReasoning(prompt, special, places, difference) +
    loadedDefinitions(prompt, special, places, difference)
  );
}

/** A run of blocks that differ: those strictly between two common blocks, in the prompt and in the base. */
interface Place {
  before: number;
  after: number;
  baseBefore: number;
  baseAfter: number;
}

/** Measures no block where the difference surely reaches `limit`: that may take long. */
function addPlace(
  difference: Difference,
  prompt: MeasuredPrompt,
  base: PromptBase,
  place: Place,
  limit: number,
): void {
  const { before, after, baseBefore, baseAfter } = place;
  let isRead = false;
  difference.tokens += PER_MESSAGE + PER_BLOCK;
  const least = difference.tokens + prompt.leastTokens(before + 1, after);
  if (least >= limit) {
    difference.tokens = least;
    return;
  }
  for (let i = before + 1; i < after; i++) {
    const block = prompt.blocks[i];
    if (!block) continue;
    difference.tokens += prompt.tokensOf(i) + PER_BLOCK + (block.opensMessage ? PER_MESSAGE : 0);
    if (block.kind !== 'notice') isRead = true;
    noteKind(difference, block.kind);
  }
  for (let j = baseBefore + 1; j < baseAfter; j++) {
    const kind = BLOCK_KINDS[base.kinds[j] ?? 0] ?? 'option';
    if (kind !== 'notice') isRead = true;
    noteKind(difference, kind);
    if (MAY_RESTORE.has(kind)) difference.restoresReasoning = true;
  }
  if (isRead) difference.firstPlace = Math.min(difference.firstPlace, before + 1);
  if (mayMerge(prompt.blocks[before], prompt.blocks[before + 1]))
    difference.tokens += prompt.tokensOf(before);
}

/**
 * Templates leave out the reasoning before the last message of the user, or before a final answer: where that is gone
 * the reasoning comes back. Tool results and system blocks have no such part.
 */
const MAY_RESTORE: ReadonlySet<BlockKind> = new Set(['user', 'image', 'assistant', 'reasoning', 'option']);

function noteKind(difference: Difference, kind: BlockKind): void {
  if (kind === 'tool' || kind === 'deferred') difference.changesTools = true;
  if (kind !== 'option') return;
  difference.tokens += FOR_OPTION;
  difference.restoresReasoning = true;
}

/** Templates join neighbours of the same role, and the text before the seam may be split into other tokens. */
function mayMerge(left: PromptBlock | undefined, right: PromptBlock | undefined): boolean {
  return left !== undefined && left.role === right?.role && CONVERSATION.has(left.role);
}

const CONVERSATION: ReadonlySet<string> = new Set(['user', 'assistant', 'result']);

/**
 * The common reasoning that the base may not have counted: all of it if something was removed that decides over it, else
 * that behind the first change, as providers leave reasoning out that follows on another prompt than its own:
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
function restoredReasoning(
  { tokensOf }: MeasuredPrompt,
  { reasoning }: SpecialBlocks,
  places: Int32Array,
  { restoresReasoning, firstPlace }: Difference,
): number {
  let tokens = 0;
  for (const i of reasoning) {
    const isCommon = (places[i] ?? -1) >= 0;
    if (isCommon && (restoresReasoning || i >= firstPlace)) tokens += tokensOf(i) + PER_BLOCK;
  }
  return tokens;
}

/** The definitions behind the references that are new, or behind all if any tool differs. */
function loadedDefinitions(
  { blocks, definitionTokens }: MeasuredPrompt,
  { referring }: SpecialBlocks,
  places: Int32Array,
  { changesTools }: Difference,
): number {
  let tokens = 0;
  for (const i of referring) {
    const isCommon = (places[i] ?? -1) >= 0;
    if (isCommon && !changesTools) continue;
    for (const name of blocks[i]?.references ?? []) tokens += definitionTokens(name) + PER_BLOCK;
  }
  return tokens;
}

/** Images by address count each time, as others may be at the address by now. */
function addressedImages(
  { blocks, imageTokens }: MeasuredPrompt,
  { addressed }: SpecialBlocks,
  places: Int32Array,
): number {
  let images = 0;
  for (const i of addressed) if ((places[i] ?? -1) >= 0) images += blocks[i]?.addressed ?? 0;
  return images * imageTokens;
}

/** Finds the blocks of a base in a prompt, in order. */
type Align = (base: Int32Array) => Int32Array;

/** Number of equal blocks to try for the next place. */
const MAX_STEPS = 32;

/**
 * Prepares a prompt for comparisons. The result of one has, for each block of the prompt, the place of the same block in
 * the base, or -1; places only grow. The common head, with single blocks in it that were replaced, and the common tail
 * are found first, what lies between greedily: an alignment that misses an equal block makes a bound looser, never wrong.
 */
export function createAlign(prompt: Int32Array): Align {
  let index: Index | undefined;
  return (base) => {
    const places = new Int32Array(prompt.length).fill(-1);
    const head = alignHead(prompt, base, places);
    const tail = alignTail(prompt, base, places, head);
    const end = prompt.length - tail;
    const baseEnd = base.length - tail;
    if (head === end || head === baseEnd) return places;
    index ??= indexOf(prompt);
    let from = head;
    for (let j = head; j < baseEnd && from < end; j++) {
      let i = index.first.get(base[j] ?? 0) ?? -1;
      for (let steps = 0; i >= 0 && i < from; steps++) i = steps < MAX_STEPS ? (index.next[i] ?? -1) : -1;
      if (i < 0 || i >= end) continue;
      places[i] = j;
      from = i + 1;
    }
    return places;
  };
}

/** Aligns equal places until two in a row differ. Returns where it stopped. */
function alignHead(prompt: Int32Array, base: Int32Array, places: Int32Array): number {
  const most = Math.min(prompt.length, base.length);
  let head = 0;
  for (; head < most; head++) {
    if (prompt[head] === base[head]) places[head] = head;
    else if (head + 1 >= most || prompt[head + 1] !== base[head + 1]) break;
  }
  return head;
}

/** Aligns what is equal from the end on. Returns how many blocks that are. */
function alignTail(prompt: Int32Array, base: Int32Array, places: Int32Array, head: number): number {
  const most = Math.min(prompt.length, base.length) - head;
  let tail = 0;
  while (tail < most && prompt[prompt.length - 1 - tail] === base[base.length - 1 - tail]) {
    places[prompt.length - 1 - tail] = base.length - 1 - tail;
    tail++;
  }
  return tail;
}

/** The first place of each block of a prompt, and for each place the next one with an equal block. */
interface Index {
  first: Map<number, number>;
  next: Int32Array;
}

function indexOf(prompt: Int32Array): Index {
  const first = new Map<number, number>();
  const next = new Int32Array(prompt.length).fill(-1);
  for (let i = prompt.length - 1; i >= 0; i--) {
    const number = prompt[i] ?? 0;
    if (number === 0) continue;
    next[i] = first.get(number) ?? -1;
    first.set(number, i);
  }
  return { first, next };
}
