import { messageOf } from '../../errors.ts';
import { isObject, objectsIn } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { FLAGS } from '../../store/ledger/record.ts';
import type { TokenUsage } from '../../usage.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import { isDated, isSameModel } from '../../wire/answer/served-model.ts';
import type { PromptBlock, PromptBlocks } from '../../wire/request/prompt-block.ts';
import { sealOf } from '../../wire/request/seals.ts';
import { type Admitted, isSearchLeftOut } from '../admission/admitted.ts';
import { FOR_TOOLS } from '../admission/edit-bound.ts';
import { optionsOf } from '../admission/input-tokens.ts';
import { blocksOf, measurePrompt, rewritesJson } from '../admission/measure-prompt.ts';
import { scopeOf } from '../admission/prompt-scope.ts';
import { headOf } from '../answer/opening.ts';
import type { Relay } from '../answer/relay.ts';
import type { AttemptResult, RoutedAttempt } from '../attempt/attempt.ts';
import type { Settlement } from '../attempt/settle.ts';
import type { Gateway } from '../context/gateway.ts';
import { queueKeyOf, type RequestContext } from '../context/request-context.ts';
import type { ContinuedResponses } from '../state/continued-responses.ts';
import type { BaseScope, NewBase, PromptBases } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';

type RememberParts = Pick<Gateway, 'promptBases' | 'continuedResponses' | 'queue' | 'budgetScopes' | 'warn'>;

/**
 * Remembers how many tokens the provider counted for a prompt, once the client has its answer, and what it billed for
 * sealed reasoning. Requests that wait for room are tried again, as the count may bound theirs.
 */
export function rememberPrompt(
  gateway: RememberParts,
  attempt: RoutedAttempt,
  { relay }: Pick<AttemptResult, 'relay'>,
  { outcome, usage, flags }: Settlement,
): void {
  const { context, target } = attempt;
  if (outcome !== 'ok' || (flags & FLAGS.estimated) !== 0 || relay.usageIs === 'opening') return;
  const isStored = mayBeContinued(context, target);
  // A request whose blocks nobody has asked for is small.
  const isOfUse = isStored || context.request.split?.blocks || isShort(attempt.admitted);
  const prompt = isOfUse ? blocksOf(context) : undefined;
  const scope = prompt && scopeOf(context, target, prompt);
  if (!scope) return;
  try {
    rememberSeals(gateway.promptBases, relay, usage);
    const head = headOf(relay);
    if (head === undefined) return;
    if (!isSameModel(target.model, head.model)) {
      gateway.promptBases.forget(scope.model);
      gateway.continuedResponses.forget(scope.model);
      return;
    }
    const tokens = usage.inputTokens + leftOutTokens(attempt);
    const counted = { tokens, contextTokens: contextOf(target) };
    const base = countedPrompt(gateway.promptBases, scope, prompt, counted);
    if (!base) return;
    const lifetimeMs = isDated(target.model) ? Number.POSITIVE_INFINITY : UNDATED_MS;
    const source = { served: head.model, lifetimeMs };
    if (isStored && head.id !== undefined)
      rememberStored(gateway, { scope, prompt, target, base, usage }, head.id, source);
    if (prompt.previous === undefined) gateway.promptBases.remember(scope, base, source);
    gateway.queue.wake(queueKeyOf(context, gateway.budgetScopes(), target));
  } catch (error) {
    gateway.warn(`a prompt could not be remembered: ${messageOf(error)}`);
  }
}

/** If the budget has room for fewer requests like this one, a lower bound may decide whether one of them fits. */
const FEW = 32;

const isShort = ({ remaining, heldNanoUsd }: Admitted): boolean =>
  remaining !== null && remaining < FEW * heldNanoUsd;

/** Upper bound of what the searches would have added that went out with none: the blocks are the client's. */
function leftOutTokens(attempt: RoutedAttempt): number {
  if (!isSearchLeftOut(attempt)) return 0;
  const removed = attempt.context.request.serverTools?.removal ?? [];
  return removed.reduce((sum, { start, end }) => sum + end - start, FOR_TOOLS);
}

/** A name without a date may be given to a new model at any time; a deployment follows within hours. */
const UNDATED_MS = 3_600_000;

function contextOf({ provider, model }: Target): number | undefined {
  return modelLimits(provider.name, model)?.contextTokens;
}

/** A provider's report for a prompt. */
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

/** Longer ids are no provider's. */
const MAX_ID_LENGTH = 200;

/**
 * Whether a request can continue the answer by its id. Where a template writes calls anew, an answer's tokens don't bound
 * what it adds to a prompt.
 */
function mayBeContinued({ wire, request, translator }: RequestContext, target: Target): boolean {
  if (wire.path !== '/responses' || translator || request.serverTools || rewritesJson(target)) return false;
  const store = request.members.find(({ key }) => key === 'store');
  return !store || readValue(request.bytes, store) !== false;
}

/** A prompt that the provider has counted, and what it reported. */
interface CountedResponse {
  scope: BaseScope;
  prompt: PromptBlocks;
  target: Target;
  base: NewBase;
  usage: TokenUsage;
}

/** Remembers what a response brings to a request that continues it. */
function rememberStored(
  { promptBases, continuedResponses }: Pick<Gateway, 'promptBases' | 'continuedResponses'>,
  { scope, prompt, target, base, usage }: CountedResponse,
  id: string,
  source: Parameters<ContinuedResponses['remember']>[3],
): void {
  // The content of an address may have changed by then.
  if (id.length > MAX_ID_LENGTH || prompt.blocks.some(({ addressed }) => addressed > 0)) return;
  const before = prompt.previous === undefined ? undefined : continuedResponses.find(scope, prompt.previous);
  if (prompt.previous !== undefined && !before) return;
  const reasoningBefore = before?.reasoningTokens ?? 0;
  // Some report without what they read from a cache.
  if (before && usage.inputTokens + reasoningBefore < before.inputTokens) return;
  const { blocks, tokensOf } = measurePrompt(prompt, target, promptBases);
  const sent = blocks.reduce((sum, { kind }, i) => (kind === 'reasoning' ? sum + tokensOf(i) : sum), 0);
  const response = {
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: reasoningBefore + sent + usage.reasoningTokens,
    trailingSpace: base.trailingSpace,
    options: optionsOf(prompt),
  };
  continuedResponses.remember(scope, id, response, source);
}

const SEALED_KEYS = ['"encrypted_content"', '"signature', '"redacted_thinking"'].map((text) =>
  Buffer.from(text),
);

/** Remembers what an answer was billed for the sealed reasoning in it, which the client will send back. */
function rememberSeals(
  bases: Pick<PromptBases, 'rememberSeal'>,
  relay: Pick<Relay, 'isStream' | 'lastEvents' | 'unsent'>,
  { reasoningTokens, outputTokens }: TokenUsage,
): void {
  const answer = relay.isStream ? relay.lastEvents : relay.unsent;
  if (!answer || !SEALED_KEYS.some((mark) => answer.indexOf(mark) >= 0)) return;
  // Not all providers say which part of the output is reasoning.
  const tokens = reasoningTokens > 0 ? reasoningTokens : outputTokens;
  for (const block of relay.isStream ? streamedBlocks(answer) : blocksIn(answer)) {
    const seal = sealOf(block);
    if (seal) bases.rememberSeal(seal.id, tokens);
  }
}

type Fields = Record<string, unknown>;

function blocksIn(answer: Buffer): Fields[] {
  const { content, output } = parseObject(answer.toString('utf8')) ?? {};
  return [content, output].flatMap(objectsIn);
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
