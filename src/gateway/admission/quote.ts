import type { Bound, NanoUsd } from '../../money.ts';
import { affordableOutputTokens, isFree, worstCase } from '../../pricing/cost.ts';
import { type ModelLimits, modelLimits } from '../../pricing/limits.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { UNKNOWN_CONTEXT } from '../../wire/request/non-text-input.ts';
import { asksForStructure } from '../../wire/request/structured-output.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { InputBound } from '../state/bound-trust.ts';
import type { ToolFees } from './tool-fees.ts';

/** The most that a request can cost, and the bounds of its usage behind that. */
export interface Quote {
  /**
   * The prices with the request's surcharges; undefined when the price is unknown. Its `dearest` is what the request is
   * held at, over the prices that can apply to it; the prices themselves settle it, whatever the answer reports.
   */
  card: PriceCard | undefined;
  /** The listed prices, without surcharges, and with `dearest` over all that is listed. */
  listed: PriceCard | undefined;
  /** The listed prices of the other models that may answer. */
  fallbacks?: readonly PriceCard[];
  /** `card` as a factor of `listed`. */
  priceFactor: number;
  /** Upper bound of the input tokens, without those that the provider's tools add. */
  inputTokens: number;
  /** Source of `inputTokens`. */
  inputBound: InputBound;
  /** Upper bound of the output tokens of each choice. */
  outputTokens: number;
  choices: number;
  /** The worst case. */
  amount: NanoUsd;
  /** The worst case when the output limit and the tool calls are lowered as far as they may be. */
  least: NanoUsd;
  /** The API has a field that limits the output, so the limit may be lowered to what a budget affords. */
  mayLower: boolean;
  /** The output limit of each choice is never lowered below this. */
  leastOutputTokens: number;
  /** The model's own maximum is unknown, so the bound holds only if it is written into the request. */
  mustLimit: boolean;
  /** There is no worst case: the request may run only in a project without a budget. */
  unpriced: boolean;
  /** The model without a known price, of those that may answer. */
  unpricedModel?: string | undefined;
  /** Output tokens of each choice that may be billed beyond the limit. */
  beyondLimit: number;
  /** More input tokens, and output tokens of each choice, than the model can have. */
  possibleTokens: number;
  /** Undefined when the provider runs no tools for this request. */
  tools: HeldTools | undefined;
  /** What a passed-through request costs besides tokens, or instead of them. */
  media?: MediaCost | undefined;
  /** Why it has no worst case, as the end of a sentence. */
  unbounded?: string | undefined;
}

/** The cost of pictures, sound and film. */
export interface MediaCost {
  /** The most that the call can cost; booked if its answer reports nothing. */
  amount: NanoUsd;
  /** It is the price, whatever tokens the answer reports. If not, it bounds what they cost. */
  isPrice: boolean;
  /** The price of each second that the answer reports, of which so many are billed at least. */
  second?: { picoUsd: bigint; least: number };
}

/** `possibleTokens` of a model whose context window is unknown: above that of every existing model. */
export const POSSIBLE_TOKENS = 10_000_000;
/** Margin for price data that is out of date: new versions of models have had fivefold context windows. */
const GROWTH = 8;

/** The limits of the model that has the most, of those that may answer; undefined where one of them is unknown. */
function limitsOfAll({ provider, model, fallbackNames = [] }: QuoteOptions): ModelLimits | undefined {
  return fallbackNames
    .map((name) => modelLimits(provider, name))
    .reduce((most, each) => most && each && mostOf(most, each), modelLimits(provider, model));
}

function mostOf(a: ModelLimits, b: ModelLimits): ModelLimits {
  const most = (one: number | undefined, other: number | undefined) =>
    one === undefined || other === undefined ? undefined : Math.max(one, other);
  return {
    contextTokens: most(a.contextTokens, b.contextTokens),
    maxOutputTokens: most(a.maxOutputTokens, b.maxOutputTokens),
  };
}

export interface HeldTools extends ToolFees {
  /** The model's context, which it may read again in each round of tool calls. */
  roundTokens: number;
}

/** Output limit for a model whose maximum is unknown, when the request sets none. */
const UNKNOWN_MODEL_OUTPUT = 32_000;

export interface QuoteOptions {
  provider: string;
  model: string;
  card: PriceCard | undefined;
  listed: PriceCard | undefined;
  /** The other models that may answer, by name, and those with a price by that. */
  fallbackNames?: readonly string[] | undefined;
  fallbacks?: readonly PriceCard[];
  unpricedModel?: string | undefined;
  priceFactor: number;
  /** Upper bound of the input tokens. */
  inputTokens: number;
  inputBound: InputBound;
  /** The output that each answer keeps besides its reasoning. */
  minOutputTokens: number;
  /** The provider keeps to output limits. If not, the model's maximum is held. Default: true. */
  keepsLimits?: boolean;
  /** The model keeps to its listed maximum. If not, that is written into the request. Default: true. */
  keepsMaximum?: boolean;
  tools?: ToolFees | undefined;
}

/**
 * The worst case: the input bound at the dearest input price, the output bound of each choice at the dearest output
 * price, and the fees of the provider's tools. Each round of tool calls may make the model read a full context again.
 */
export function quote(request: WireRequest, options: QuoteOptions): Quote {
  const { card } = options;
  const { choices } = request;
  const limits = limitsOfAll(options);
  const modelMaximum = limits?.maxOutputTokens;
  const tools = options.tools && heldTools(request, options.tools, options.inputTokens, limits);
  const { maxOutputTokens, reasoningTokens = 0 } = request;
  const { keepsLimits = true, keepsMaximum = true } = options;
  const most = Math.max(modelMaximum ?? UNKNOWN_MODEL_OUTPUT, reasoningTokens);
  const outputTokens = keepsLimits ? (maxOutputTokens ?? most) : Math.max(maxOutputTokens ?? 0, most);
  const mayLower = request.limitable !== false && keepsLimits;
  const result: Quote = {
    card,
    listed: options.listed,
    ...(options.fallbacks && { fallbacks: options.fallbacks }),
    priceFactor: options.priceFactor,
    inputTokens: options.inputTokens,
    inputBound: options.inputBound,
    outputTokens,
    choices,
    amount: 0,
    least: 0,
    mayLower,
    leastOutputTokens: mayLower ? Math.min(leastOutput(request, options), outputTokens) : outputTokens,
    mustLimit: mayLower && maxOutputTokens === undefined && !(keepsMaximum && modelMaximum !== undefined),
    unpriced:
      card === undefined ||
      options.unpricedModel !== undefined ||
      request.surcharges?.unknown !== undefined ||
      tools?.unknown !== undefined,
    unpricedModel: options.unpricedModel,
    beyondLimit: request.beyondLimit ?? 0,
    possibleTokens: limits?.contextTokens === undefined ? POSSIBLE_TOKENS : limits.contextTokens * GROWTH,
    tools,
  };
  result.amount = costWith(result, outputTokens, tools?.calls);
  const { leastOutputTokens } = result;
  result.least =
    leastOutputTokens < outputTokens || tools
      ? costWith(result, leastOutputTokens, tools?.leastCalls)
      : result.amount;
  return result;
}

function heldTools(
  { stream }: WireRequest,
  fees: ToolFees,
  inputTokens: number,
  limits: ModelLimits | undefined,
): HeldTools {
  const tools: HeldTools = { ...fees, roundTokens: limits?.contextTokens ?? UNKNOWN_CONTEXT };
  if (fees.addedTokens === undefined) return tools;
  // A stream may be held for fewer rounds of code, as it is cut before one could outgrow its hold.
  const isTooFew = (calls: number) =>
    inputWith({ inputTokens, tools }, calls) - inputTokens < tools.roundTokens;
  tools.leastCalls = stream ? 1 : tools.calls;
  while (tools.leastCalls < tools.calls && isTooFew(tools.leastCalls)) tools.leastCalls++;
  return tools;
}

/** The quote with the shortest answers that can be of use, structured or not; the same where it has them. */
export function shortestQuote(quote: Quote, request: WireRequest, options: LeastOutputOptions): Quote {
  const { leastOutputTokens, mayLower, tools } = quote;
  const shortest = leastOutput(request, options, 1);
  if (!mayLower || shortest >= leastOutputTokens) return quote;
  const result = { ...quote, leastOutputTokens: shortest };
  result.least = costWith(result, shortest, tools?.leastCalls);
  return result;
}

type LeastOutputOptions = Pick<QuoteOptions, 'provider' | 'minOutputTokens'>;

/**
 * A tool call or a JSON answer that is cut is of no use, and takes more tokens than the start of a text that is. A client
 * without a limit of its own has left it to gw: refusing what could have been sent is worse there.
 */
const STRUCTURED_FACTOR = 4;

/** Makers whose output limit covers the reasoning, of which a request sets no number of tokens. */
const LIMIT_REASONING: ReadonlySet<string> = new Set(['openai', 'azure']);

/**
 * The output that each choice keeps: the reasoning that was asked for, which an API may demand to be below the limit,
 * and the minimum for the answer itself.
 */
function leastOutput(
  request: WireRequest,
  { provider, minOutputTokens }: LeastOutputOptions,
  structuredFactor = STRUCTURED_FACTOR,
): number {
  const { leastLimit = 1, maxOutputTokens, foreignThinking } = request;
  const isCovered = LIMIT_REASONING.has(provider) && !foreignThinking;
  const reasoningTokens = isCovered ? 0 : (request.reasoningTokens ?? 0);
  const isStructured = maxOutputTokens !== undefined && asksForStructure(request);
  const answer = minOutputTokens * (isStructured ? structuredFactor : 1);
  return Math.max(reasoningTokens + answer, leastLimit);
}

/** Upper bound of the input tokens with this many calls of the provider's tools. */
export function inputWith({ inputTokens, tools }: Pick<Quote, 'inputTokens' | 'tools'>, calls = 0): number {
  if (!tools) return inputTokens;
  const { addedTokens, roundTokens } = tools;
  const rounds = tools.roundsAt(calls);
  if (addedTokens === undefined) return inputTokens + rounds * roundTokens;
  let read = inputTokens;
  for (let round = 1; round <= rounds; round++)
    read += Math.min(roundTokens, inputTokens + round * addedTokens);
  return read;
}

/** Upper bound of the fees of this many calls of the provider's tools. */
export function feesWith({ tools }: Quote, calls = 0): Bound {
  return (tools ? tools.feesAt(calls) : 0) as Bound;
}

/** The worst case with this output limit of each choice, and this many calls of the provider's tools. */
export function costWith(quote: Quote, outputTokens: number, calls?: number): Bound {
  const { card, choices, beyondLimit } = quote;
  if (!card) return 0 as Bound;
  const usage = {
    inputTokens: inputWith(quote, calls),
    outputTokens: outputTokens + beyondLimit,
    choices,
  };
  const tokens = worstCase(usage, card);
  return Math.min(tokens + feesWith(quote, calls), Number.MAX_SAFE_INTEGER) as Bound;
}

/** Input tokens of a small request, as `budget.exceeded` means it. */
const SMALL_INPUT_TOKENS = 1_000;

/** By card, for the minimum that was asked for last: every request asks, and only refusals use it. */
const smallCosts = new WeakMap<PriceCard, { minOutputTokens: number; cost: NanoUsd }>();

/** Worst case of a small request at the same price: a thousand tokens in and the least useful output. */
export function smallRequestCost({ card }: Quote, minOutputTokens: number): NanoUsd {
  if (!card) return 0;
  const known = smallCosts.get(card);
  if (known?.minOutputTokens === minOutputTokens) return known.cost;
  const usage = { inputTokens: SMALL_INPUT_TOKENS, outputTokens: minOutputTokens, choices: 1 };
  const cost = worstCase(usage, card);
  smallCosts.set(card, { minOutputTokens, cost });
  return cost;
}

export function costsNothing(quote: Quote): boolean {
  return quote.card !== undefined && isFree(quote.card) && !quote.tools;
}

/** The limits with which a request fits into the room of a budget. */
export interface Fit {
  /** Output limit of each choice. */
  outputTokens: number;
  /** Calls of the provider's tools. */
  calls: number | undefined;
  /** The worst case within the limits. */
  amount: NanoUsd;
}

/**
 * Lowers a request's limits to fit into `room`: first the tool calls, since an answer can do without them, then the
 * output, down to the least. Undefined if the request still doesn't fit, or its limits can't be lowered.
 */
export function fitInto(quote: Quote, room: NanoUsd): Fit | undefined {
  const { mayLower, tools } = quote;
  if (!mayLower && !tools) return undefined;
  // A short answer with a search is better than a long one without.
  const one = tools && Math.max(tools.leastCalls, Math.min(1, tools.calls));
  const fit = fitWith(quote, room, one);
  return fit || one === tools?.leastCalls ? fit : fitWith(quote, room, tools?.leastCalls);
}

function fitWith(quote: Quote, room: NanoUsd, leastCalls: number | undefined): Fit | undefined {
  const { card, choices, tools } = quote;
  if (!card) return undefined;
  let calls = leastCalls;
  const roomForTokens = room - feesWith(quote, calls);
  if (roomForTokens < 0) return undefined;
  const affordable = affordableOutputTokens(roomForTokens, inputWith(quote, calls), choices, card);
  const outputTokens = Math.min(affordable - quote.beyondLimit, quote.outputTokens);
  if (outputTokens < quote.leastOutputTokens) return undefined;
  if (tools && calls !== undefined && outputTokens === quote.outputTokens) {
    while (calls < tools.calls && costWith(quote, outputTokens, calls + 1) <= room) calls++;
  }
  return { outputTokens, calls, amount: costWith(quote, outputTokens, calls) };
}
