import type { IncomingMessage } from 'node:http';
import { OPEN_BRACE, type Range } from '../../json/bytes.ts';
import type { RecentTexts } from '../../json/recent-texts.ts';
import { readValue, scanObject } from '../../json/scan.ts';
import { imageTokens, type NonTextInput } from '../../wire/request/non-text-input.ts';
import type { PromptBlock, PromptBlocks, UnknownInput } from '../../wire/request/prompt-block.ts';
import { sealOf } from '../../wire/request/seals.ts';
import { continuedGrowth, normalizationGrowth, rewriteGrowth } from '../../wire/request/text-growth.ts';
import type { Prompt, WireRequest } from '../../wire/request/wire-request.ts';
import type { RequestWire } from '../../wire/wire.ts';
import { giveWay, isLarge, measureInThread } from '../intake/scan-large.ts';
import { type PromptBases, SMALL_BYTES } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';
import type { MeasuredPrompt } from './edit-bound.ts';
import { modelScopeOf, withLightBetas } from './prompt-scope.ts';

interface Splittable {
  wire: RequestWire;
  request: WireRequest;
  exchange: { request: Pick<IncomingMessage, 'headers'> };
  recentPrompts?: RecentTexts<PromptBlocks> | undefined;
}

/** The whole prompt in blocks; undefined if the provider adds to it what it stores. */
export function promptOf(context: Splittable): PromptBlocks | undefined {
  const prompt = blocksOf(context);
  return prompt?.previous === undefined ? prompt : undefined;
}

/**
 * The whole prompt in blocks where a bound by them may be worth the split: a small one takes longer to split than it can
 * save, but for a model that counted one where money was short.
 */
export function promptWorthSplitting(
  context: Splittable,
  target: Target,
  bases: Pick<PromptBases, 'hasSmall'>,
): PromptBlocks | undefined {
  if (context.request.bytes.length < SMALL_BYTES && !bases.hasSmall(modelScopeOf(target))) return undefined;
  return promptOf(context);
}

/** The request's part of the prompt in blocks, as far as gw sends it unchanged. Split once for all stages. */
export function blocksOf({ wire, request, exchange, recentPrompts }: Splittable): PromptBlocks | undefined {
  const { bytes } = request;
  if (request.split?.bytes !== bytes) {
    const { like } = request;
    // A request that lives on would keep the earlier body.
    request.like = undefined;
    const earlier = recentPrompts?.find(bytes, like?.bytes === bytes ? like.earlier : undefined);
    const prompt = wire.blocksOf?.(request, earlier);
    if (prompt && earlier) prompt.growth = continuedGrowth(earlier, bytes);
    if (prompt) recentPrompts?.keep(prompt, earlier);
    request.split = { bytes, blocks: prompt && withLightBetas(prompt, exchange.request.headers) };
  }
  return request.split.blocks;
}

/** Tokens by which normalized forms of the request's text can exceed its bytes. Computed once for all stages. */
export function growthOfText({ bytes, split }: WireRequest): number {
  if (split?.bytes !== bytes) return normalizationGrowth(bytes);
  split.growth ??= split.blocks?.growth ?? normalizationGrowth(bytes);
  // A later prompt that begins with this one has only the rest of its text to look at.
  if (split.blocks) split.blocks.growth = split.growth;
  return split.growth;
}

/** Tokens by which the request's JSON can grow where a template writes it anew. */
export function growthOfJson(
  { bytes, split }: WireRequest,
  blocks: MeasuredPrompt['blocks'] | undefined,
): number {
  if (split?.bytes === bytes && split.rewritten !== undefined) return split.rewritten;
  return rewriteGrowth(bytes, jsonIn(blocks));
}

/** Where a prompt is JSON; undefined if it can't be split. */
function jsonIn(blocks: MeasuredPrompt['blocks'] | undefined): Range[] | undefined {
  return blocks?.filter(({ isJson }) => isJson).map(({ start, end }) => ({ start, end }));
}

/** Splits a large body, and measures it in a thread; undefined for one that is not large. */
export const measureLarge = (context: Splittable, target: Target): Promise<void> | undefined =>
  isLarge(context.request.bytes) ? measure(context, target) : undefined;

async function measure(context: Splittable, target: Target): Promise<void> {
  const prompt = promptOf(context);
  const { request, wire } = context;
  const { bytes, split } = request;
  if (!split || (prompt?.growth !== undefined && !rewritesJson(target))) return giveWay();
  const { growth, unseen, rewritten } = await measureInThread(bytes, wire, jsonIn(prompt?.blocks));
  Object.assign(split, { growth, rewritten });
  request.unseen = { bytes, input: unseen };
}

/** Input that the request's bytes don't bound, or that is of no known shape. Read once for all stages. */
export function unseenIn(context: Splittable): UnknownInput | undefined {
  const { wire, request } = context;
  const { bytes } = request;
  // A prompt that can be split has no such field.
  if (bytes.length >= SMALL_BYTES && blocksOf(context)) return undefined;
  if (request.unseen?.bytes !== bytes) request.unseen = { bytes, input: wire.unseenIn(request) };
  return request.unseen.input;
}

/** The request's input besides text, with what is of no known shape. */
export function nonTextOf(context: Splittable): NonTextInput {
  const { nonText, serverTools } = context.request;
  const isByRounds = nonText.context && serverTools?.heldByRounds === true;
  if (nonText.context && !isByRounds) return nonText;
  const isUnseen = unseenIn(context) !== undefined;
  return isUnseen === nonText.context ? nonText : { images: nonText.images, context: isUnseen };
}

/** The input as the model reads it. What is of no known shape may fill the model's context. */
export function readPrompt(context: Splittable): Prompt {
  const prompt = context.wire.promptOf(context.request);
  if (unseenIn(context)) prompt.nonText.context = true;
  return prompt;
}

/** Makers whose templates write no JSON anew. */
const KEEP_JSON: ReadonlySet<string> = new Set(['openai', 'azure', 'anthropic', 'gemini', 'google']);

/** Whether the target's template may write tools, calls and results anew. */
export function rewritesJson({ provider }: Target): boolean {
  return !KEEP_JSON.has(provider.name);
}

/** A prompt with upper bounds of its blocks' tokens, which are worked out when they are asked for. */
export function measurePrompt(
  { bytes, blocks }: PromptBlocks,
  target: Target,
  bases: Pick<PromptBases, 'numbersOf' | 'sealedTokens'>,
): MeasuredPrompt {
  const hasImages = blocks.some(({ images }) => images > 0);
  const perImage = hasImages ? imageTokens(target.model, bytes) : 0;
  const rewrites = rewritesJson(target);
  const known = new Float64Array(blocks.length).fill(-1);
  let sums: Float64Array | undefined;
  function tokensOf(at: number): number {
    const before = known[at] ?? -1;
    if (before >= 0) return before;
    const block = blocks[at];
    const tokens = block ? blockTokens(bytes, block, rewrites, bases) + block.images * perImage : 0;
    known[at] = tokens;
    return tokens;
  }
  return {
    blocks,
    numbers: bases.numbersOf(blocks),
    tokensOf,
    leastTokens(from, to) {
      sums ??= sumsOf(blocks);
      return (sums[to] ?? 0) - (sums[from] ?? 0);
    },
    definitionTokens: (name) => definitionTokens(blocks, name, tokensOf),
    imageTokens: perImage,
  };
}

/** The least tokens of the first blocks: of none, of one, and so on. */
function sumsOf(blocks: readonly PromptBlock[]): Float64Array {
  const sums = new Float64Array(blocks.length + 1);
  blocks.forEach((block, i) => {
    sums[i + 1] = (sums[i] ?? 0) + leastTokens(block);
  });
  return sums;
}

/** Sealed reasoning may have fewer tokens than bytes. */
const leastTokens = ({ kind, start, end, without, inline }: PromptBlock): number =>
  kind === 'reasoning' ? 0 : end - start - without - inline;

/** Tokens of a block that the provider hasn't counted yet: its bytes, and what these can grow to. */
function blockTokens(
  bytes: Buffer,
  block: PromptBlock,
  rewrites: boolean,
  bases: Pick<PromptBases, 'sealedTokens'>,
): number {
  const { start, end, without, inline } = block;
  const sealed = block.kind === 'reasoning' ? sealedTokens(bytes, block, bases) : undefined;
  if (sealed !== undefined) return sealed;
  const rewritten = rewrites && block.isJson ? rewriteGrowth(bytes, [block]) : 0;
  return end - start - without - inline + normalizationGrowth(bytes.subarray(start, end)) + rewritten;
}

/** Tokens that sealed reasoning was billed at in its answer, and the bytes beside the seal. */
function sealedTokens(
  bytes: Buffer,
  { start, end }: PromptBlock,
  bases: Pick<PromptBases, 'sealedTokens'>,
): number | undefined {
  const text = bytes.subarray(start, end);
  if (text[0] !== OPEN_BRACE) return undefined;
  const value: Record<string, unknown> = {};
  for (const member of scanObject(text)) value[member.key] = readValue(text, member);
  const seal = sealOf(value);
  const tokens = seal && bases.sealedTokens(seal.id);
  return tokens === undefined || !seal ? undefined : tokens + Math.max(0, end - start - seal.bytes);
}

/** The tool's definition; those of all deferred tools if none or several have the name. */
function definitionTokens(
  blocks: readonly PromptBlock[],
  name: string,
  tokensOf: (at: number) => number,
): number {
  let named = 0;
  let found = 0;
  let deferred = 0;
  for (let i = 0; i < blocks.length; i++) {
    const { kind, name: each } = blocks[i] as PromptBlock;
    if (kind !== 'tool' && kind !== 'deferred') continue;
    if (each === name) {
      named += tokensOf(i);
      found++;
    }
    if (kind === 'deferred') deferred += tokensOf(i);
  }
  return found === 1 ? named : deferred + named;
}
