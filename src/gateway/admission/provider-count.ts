import { JsonSyntaxError, readValue } from '../../json/scan.ts';
import type { NanoUsd } from '../../money.ts';
import { PRESETS } from '../../providers/presets.ts';
import {
  BLOCK_KINDS,
  type BlockKind,
  type PromptBlock,
  type PromptBlocks,
} from '../../wire/request/prompt-block.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { PromptBase, PromptBases } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';
import { editBound, type MeasuredPrompt } from './edit-bound.ts';
import { measurePrompt, nonTextOf, promptOf, rewritesJson } from './measure-prompt.ts';
import { scopeOf } from './prompt-scope.ts';
import { costWith, type Quote } from './quote.ts';
import type { QuoteFor } from './quote-request.ts';

/*
 * Anthropic's counts are estimates that "may differ by a small amount", and it doesn't say by how much. OpenAI's are "the
 * exact count the model will receive": https://developers.openai.com/api/docs/guides/token-counting. A count that proves
 * too low is not used again for its model.
 */
const MARGIN = 1.05;
const MARGIN_OF_EXACT = 1.02;
const MARGIN_TOKENS = 500;
/** The same for a text alone, without a request around it. */
const MARGIN_TOKENS_OF_TEXT = 100;

function withMargin(count: number, { provider }: Target, marginTokens = MARGIN_TOKENS): number {
  const isExact = provider.wire === 'openai' && Object.hasOwn(PRESETS, provider.name);
  return Math.ceil(count * (isExact ? MARGIN_OF_EXACT : MARGIN)) + marginTokens;
}

/**
 * Upper bound of the input tokens for what the provider has counted. Anthropic's count leaves out the thinking of earlier
 * turns, which newer models read and bill: https://platform.claude.com/docs/en/build-with-claude/token-counting. What
 * Google's says of thoughts is not documented, so all of them are added: https://ai.google.dev/api/tokens
 */
export function countBound(
  count: number,
  { prompt, target, bases }: { prompt: PromptBlocks | undefined; target: Target; bases: MeasuringBases },
): number {
  const { wire } = target.provider;
  if (!prompt || wire === 'openai') return withMargin(count, target);
  const measured = measurePrompt(prompt, target, bases);
  return withMargin(count, target) + (wire === 'gemini' ? reasoning(measured) : earlierReasoning(measured));
}

type MeasuringBases = Pick<PromptBases, 'numbersOf' | 'sealedTokens'>;

/** Parts of the gateway that bound the input by the provider's count. */
export type CountParts = PlanParts & Pick<Gateway, 'inputCounter'>;

/** Parts that plan a count. */
export interface PlanParts extends Pick<Gateway, 'boundTrust'> {
  promptBases: MeasuringBases & Pick<PromptBases, 'find'>;
}

/** Tokenizers pack four to five bytes of prose or code into a token; eight leaves room for deep indentation. */
const MOST_BYTES_PER_TOKEN = 8;
/** A prompt has at least so much of the tokens a byte that a similar one had. */
const LEAST_OF_RATE = 0.75;

/**
 * A client that sets a limit of its own wants more than the least: a count that leaves no more is not worth its time. Before
 * the budget's first alert it is, as the client is to be refused after that.
 */
const USEFUL_FACTOR = 2;
/** An answer of fewer than so many times the least is often cut. */
const SHORT_FACTOR = 4;

export type IfCounted = ReturnType<typeof ifCounted>;

/** Estimates of a request once the provider has counted it. */
export function ifCounted(parts: CountParts, context: RequestContext, target: Target, quoteFor: QuoteFor) {
  function cost(tokens: number, outputOf: (counted: Quote) => number): NanoUsd {
    const counted = quoteFor(tokens, 'provider_count');
    return costWith(counted, Math.min(outputOf(counted), counted.outputTokens), counted.tools?.leastCalls);
  }

  return {
    /**
     * The least that the request is likely to need by the count; undefined if the count isn't worth a round trip, or
     * can't be below the quote. A request that doesn't fit even so is refused without asking. 0 if its prompt was counted
     * before: that takes no time.
     */
    least(quote: Quote, isAlerted: boolean): NanoUsd | undefined {
      const { maxOutputTokens } = context.request;
      const tokens = tokensIfCounted(parts, context, target, quote);
      if (!tokens || tokens.isKnown) return tokens && 0;
      const factor = maxOutputTokens === undefined || !isAlerted ? 1 : USEFUL_FACTOR;
      // The quote's answers may have been cut shorter.
      return cost(
        tokens.least,
        (counted) => factor * Math.min(counted.leastOutputTokens, quote.leastOutputTokens),
      );
    },
    /**
     * Whether `room` leaves so short an answer, of `outputTokens`, that a count is worth its time: one that is likely to
     * leave room for twice as much.
     */
    isWorth(quote: Quote, outputTokens: number, room: NanoUsd): boolean {
      if (outputTokens >= SHORT_FACTOR * quote.leastOutputTokens || outputTokens === quote.outputTokens)
        return false;
      const tokens = tokensIfCounted(parts, context, target, quote);
      return tokens !== undefined && cost(tokens.least, () => USEFUL_FACTOR * outputTokens) <= room;
    },
  };
}

/**
 * The input tokens that a count is likely to show at least, or has shown; undefined where the provider is not to be asked,
 * or a count can't be below the quote.
 */
function tokensIfCounted(
  parts: CountParts,
  context: RequestContext,
  target: Target,
  { unpriced, inputTokens }: Quote,
): { least: number; isKnown: boolean } | undefined {
  const { boundTrust, inputCounter } = parts;
  if (unpriced || !boundTrust.isTrusted(target, 'provider_count')) return undefined;
  if (!inputCounter.mayAsk(context, target)) return undefined;
  const known = inputCounter.recall(context, target);
  const least = known ?? planCount(parts, context, target).least;
  return least < inputTokens ? { least, isKnown: known !== undefined } : undefined;
}

/** The text that the provider is asked to count for a request. */
export interface CountPlan {
  /** Counted as a message of its own; undefined: the whole request is counted. */
  text: string | undefined;
  /** Upper bound of the input tokens for the count. */
  boundOf(count: number): number;
  /** The least that the bound is likely to be: an estimate, which is of use for the decision to ask alone. */
  least: number;
}

/** Chooses between counting the prompt and what is new in it, by what is likely to give the lower bound. */
export function planCount(parts: PlanParts, context: RequestContext, target: Target): CountPlan {
  const { promptBases } = parts;
  const prompt = promptOf(context);
  const measured = prompt && measurePrompt(prompt, target, promptBases);
  const scope = prompt && scopeOf(context, target, prompt);
  const bases = scope ? promptBases.find(scope) : [];
  const found = measured && editBound(measured, bases);
  const nonText = nonTextOf(context);
  // Images and files have few tokens for their bytes.
  const mayBeFew = nonText.images > 0 || nonText.context;
  const { bytes } = context.request;
  const whole: CountPlan = {
    text: undefined,
    boundOf: (count) => countBound(count, { prompt, target, bases: promptBases }),
    least: withMargin(mayBeFew ? 0 : leastTokens(bytes, measured, found), target),
  };
  if (!found || !parts.boundTrust.isTrusted(target, 'edit') || rewritesJson(target)) return whole;
  const added = addedText(prompt, measured, bases);
  if (!added) return whole;
  const boundOf = (count: number) => added.restTokens + withMargin(count, target, MARGIN_TOKENS_OF_TEXT);
  const perByte = found.base.tokens / found.base.bytes;
  return boundOf(perByte * added.text.length) < withMargin(perByte * bytes.length, target)
    ? { text: added.text, boundOf, least: boundOf(added.text.length / MOST_BYTES_PER_TOKEN) }
    : whole;
}

/**
 * What a prompt says that no counted prompt says, as one text that has no fewer tokens than it has in the prompt, and an
 * upper bound of the tokens of all else.
 */
function addedText(
  { bytes }: PromptBlocks,
  measured: MeasuredPrompt,
  bases: readonly PromptBase[],
): { text: string; restTokens: number } | undefined {
  const { blocks, numbers, tokensOf } = measured;
  const texts = new Map<number, string>();
  blocks.forEach((block, i) => {
    const isCounted = numbers[i] === 0 && isSaid(block) && !isTextBeforeText(block, blocks[i + 1]);
    const text = isCounted ? plainJson(bytes, block) : undefined;
    if (text !== undefined) texts.set(i, text);
  });
  if (texts.size === 0) return undefined;
  const rest = {
    ...measured,
    tokensOf: (at: number) => (texts.has(at) ? 0 : tokensOf(at)),
    leastTokens: () => 0,
  };
  const bound = editBound(rest, bases);
  return bound && { text: [...texts.values()].join('\n'), restTokens: bound.tokens };
}

/** JSON without escapes of letters: a letter may have more tokens than its escape. Undefined if it can't be read. */
function plainJson(bytes: Buffer, block: PromptBlock): string | undefined {
  try {
    return JSON.stringify(readValue(bytes, block));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/** Texts, calls and results, with nothing in them that is more than its bytes. */
const isSaid = ({ kind, images, references, without }: PromptBlock): boolean =>
  SAID.has(kind) && images === 0 && references === undefined && without === 0;

/** Templates join texts of one role, and the first may be split into other tokens than when it is counted. */
const isTextBeforeText = (block: PromptBlock, next: PromptBlock | undefined): boolean =>
  !block.isJson && next?.isJson === false && next.role === block.role;

const SAID: ReadonlySet<BlockKind> = new Set(['user', 'assistant', 'result']);

function leastTokens(
  bytes: Buffer,
  measured: MeasuredPrompt | undefined,
  found: ReturnType<typeof editBound>,
): number {
  const least = bytes.length / MOST_BYTES_PER_TOKEN;
  if (!measured || !found) return least;
  const { base } = found;
  const byRate = LEAST_OF_RATE * (base.tokens / base.bytes) * bytes.length;
  if (!hasAllOf(measured.numbers, base)) return Math.max(least, byRate);
  const added = (found.tokens - base.tokens) / MOST_BYTES_PER_TOKEN;
  // A template may leave out reasoning that the base had.
  return Math.max(least, byRate, base.tokens - earlierReasoning(measured) + added);
}

/** The reasoning of earlier turns: what comes before the user last said something. A loop of tool calls is one turn. */
function earlierReasoning(measured: MeasuredPrompt): number {
  return reasoning(
    measured,
    measured.blocks.findLastIndex(({ kind }) => kind === 'user' || kind === 'image'),
  );
}

function reasoning({ blocks, tokensOf }: MeasuredPrompt, turn = blocks.length): number {
  return blocks.reduce((sum, { kind }, i) => (kind === 'reasoning' && i < turn ? sum + tokensOf(i) : sum), 0);
}

const NOTICE = BLOCK_KINDS.indexOf('notice');

/** Whether a prompt has every block of a base that the model reads, in order. */
function hasAllOf(numbers: Int32Array, { blocks, kinds }: PromptBase): boolean {
  let i = 0;
  for (let j = 0; j < blocks.length; j++) {
    if (kinds[j] === NOTICE) continue;
    while (i < numbers.length && numbers[i] !== blocks[j]) i++;
    if (i++ >= numbers.length) return false;
  }
  return true;
}
