import type { NanoUsd } from '../../money.ts';
import { PRESETS } from '../../providers/presets.ts';
import { BLOCK_KINDS, type PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { PromptBase, PromptBases } from '../state/prompt-bases.ts';
import type { Target } from '../state/resolver.ts';
import { editBound, type MeasuredPrompt } from './edit-bound.ts';
import { measurePrompt, nonTextOf, promptOf } from './measure-prompt.ts';
import { scopeOf } from './prompt-scope.ts';
import type { Quote } from './quote.ts';
import { costWith } from './quote.ts';
import type { QuoteFor } from './quote-request.ts';

/*
 * Anthropic's counts are estimates that "may differ by a small amount", and it doesn't say by how much. OpenAI's are "the
 * exact count the model will receive": https://developers.openai.com/api/docs/guides/token-counting. A count that proves
 * too low is not used again for its model.
 */
const MARGIN = 1.05;
const MARGIN_OF_EXACT = 1.02;
const MARGIN_TOKENS = 500;

function withMargin(count: number, { provider }: Target): number {
  const isExact = provider.wire === 'openai' && Object.hasOwn(PRESETS, provider.name);
  return Math.ceil(count * (isExact ? MARGIN_OF_EXACT : MARGIN)) + MARGIN_TOKENS;
}

/**
 * Upper bound of the input tokens for what the provider has counted. Anthropic's count leaves out the thinking of earlier
 * turns, which newer models read and bill: https://platform.claude.com/docs/en/build-with-claude/token-counting
 */
export function countBound(
  count: number,
  { prompt, target, bases }: { prompt: PromptBlocks | undefined; target: Target; bases: MeasuringBases },
): number {
  if (!prompt || target.provider.wire !== 'anthropic') return withMargin(count, target);
  return withMargin(count, target) + earlierReasoning(measurePrompt(prompt, target, bases));
}

type MeasuringBases = Pick<PromptBases, 'numbersOf' | 'sealedTokens'>;

/** What bounding the input by the provider's count needs of the gateway. */
export type CountParts = Pick<Gateway, 'boundTrust' | 'inputCounter' | 'promptBases'>;

/** Tokenizers pack four to five bytes of prose or code into a token; eight leaves room for deep indentation. */
const MOST_BYTES_PER_TOKEN = 8;
/** A prompt has at least so much of the tokens a byte that a similar one had. */
const LEAST_OF_RATE = 0.75;

/**
 * A client that sets a limit of its own wants more than the least: a count that leaves no more is not worth its time. Before
 * the budget's first alert it is, as the client is to be refused after that.
 */
const USEFUL_FACTOR = 4;

/**
 * The least that a request is likely to need by the provider's count; undefined where that is not to be asked for, or
 * can't be below the quote. A request that doesn't fit even so is refused without a round trip. 0 where its prompt was
 * counted before: that takes no time.
 */
export function leastIfCounted(
  parts: CountParts,
  context: RequestContext,
  target: Target,
  { quote, quoteFor, isAlerted }: { quote: Quote; quoteFor: QuoteFor; isAlerted: boolean },
): NanoUsd | undefined {
  const { boundTrust, inputCounter, promptBases } = parts;
  if (quote.unpriced || !boundTrust.isTrusted(target, 'provider_count')) return undefined;
  if (!inputCounter.mayAsk(context, target)) return undefined;
  const known = inputCounter.recall(context, target);
  if (known !== undefined) return known < quote.inputTokens ? 0 : undefined;
  const { maxOutputTokens } = context.request;
  const nonText = nonTextOf(context);
  // Images and files have few tokens for their bytes.
  const mayBeFew = nonText.images > 0 || nonText.context;
  const tokens = withMargin(mayBeFew ? 0 : leastTokens(promptBases, context, target), target);
  if (tokens >= quote.inputTokens) return undefined;
  const counted = quoteFor(tokens, 'provider_count');
  if (maxOutputTokens === undefined || !isAlerted) return counted.least;
  const useful = Math.min(USEFUL_FACTOR * counted.leastOutputTokens, counted.outputTokens);
  return costWith(counted, useful, counted.tools?.leastCalls);
}

/** An estimate, which is of use for the decision to ask alone. */
function leastTokens(promptBases: PromptBases, context: RequestContext, target: Target): number {
  const { bytes } = context.request;
  const least = bytes.length / MOST_BYTES_PER_TOKEN;
  const prompt = promptOf(context);
  const scope = prompt && scopeOf(context, target, prompt);
  if (!scope) return least;
  const measured = measurePrompt(prompt, target, promptBases);
  const found = editBound(measured, promptBases.find(scope));
  if (!found) return least;
  const { base } = found;
  const byRate = LEAST_OF_RATE * (base.tokens / base.bytes) * bytes.length;
  if (!hasAllOf(measured.numbers, base)) return Math.max(least, byRate);
  const added = (found.tokens - base.tokens) / MOST_BYTES_PER_TOKEN;
  // A template may leave out reasoning that the base had.
  return Math.max(least, byRate, base.tokens - earlierReasoning(measured) + added);
}

/** The reasoning of earlier turns: what comes before the user last said something. A loop of tool calls is one turn. */
function earlierReasoning({ blocks, tokensOf }: MeasuredPrompt): number {
  const turn = blocks.findLastIndex(({ kind }) => kind === 'user' || kind === 'image');
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
