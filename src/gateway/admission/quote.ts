import type { NanoUsd } from '../../money.ts';
import { affordableOutputTokens, isFree, worstCase } from '../../pricing/cost.ts';
import { modelLimits } from '../../pricing/limits.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import { UNKNOWN_CONTEXT } from '../../wire/request/non-text-input.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { ToolFees } from './tool-fees.ts';

/** What a request can cost at most. */
export interface Quote {
  /** The prices on the terms that the request asks for. */
  card: PriceCard | undefined;
  /** The prices as they are listed; `card` has so many tenths of them. */
  listed: PriceCard | undefined;
  heldTenths: number;
  inputTokens: number;
  /** Bound of the output tokens of each choice. */
  outputTokens: number;
  choices: number;
  amount: NanoUsd;
  /** The least it could be run for: with its output cut to the minimum, if it may be cut. */
  least: NanoUsd;
  /** The output may be cut to what a budget affords, as the request sets no limit of its own. */
  mayCut: boolean;
  /** The model's maximum is not known, so the bound has to be written into the request to hold. */
  mustLimit: boolean;
  /** Nobody knows what it costs: it may run only where there is no budget to hold. */
  unpriced: boolean;
  /** Output tokens of each choice that may be billed beyond the limit. */
  beyondLimit: number;
  /** Output tokens of each choice for thoughts, below which no limit is of use. */
  reasoningTokens: number;
  /** The most input and output (of each choice) that the model can have at all. */
  possibleTokens: number;
  /** Left out where the provider runs no tools of its own. */
  tools: HeldTools | undefined;
}

/** Of a model whose context size is unknown: beyond those of all models there are. */
export const POSSIBLE_TOKENS = 10_000_000;
/** Price data may be old, and contexts have grown fivefold. */
const GROWTH = 8;

/** More than a model can read or write in one go. */
function possibleTokens(provider: string, model: string): number {
  const context = modelLimits(provider, model)?.contextTokens;
  return context === undefined ? POSSIBLE_TOKENS : context * GROWTH;
}

/** The tools of a quote, and how much a round of theirs lets the model read again. */
export interface HeldTools extends ToolFees {
  roundTokens: number;
}

/** What a model whose maximum is unknown is allowed, where the request sets no limit. */
const UNKNOWN_MODEL_OUTPUT = 32_000;

export interface QuoteOptions {
  provider: string;
  model: string;
  card: PriceCard | undefined;
  listed: PriceCard | undefined;
  heldTenths: number;
  /** Bound of the input tokens. */
  inputTokens: number;
  /** A request without a limit of its own is not cut below this. */
  minOutputTokens: number;
  tools?: ToolFees | undefined;
}

/**
 * The worst case: the input's bound at the dearest input price and the output's at the output price, times choices,
 * and the fees of the provider's tools. With each of their calls the model may read all that it can take in once more.
 */
export function quote(request: WireRequest, options: QuoteOptions): Quote {
  const { card } = options;
  const { choices } = request;
  const limits = modelLimits(options.provider, options.model);
  const known = limits?.maxOutputTokens;
  const tools = options.tools && {
    ...options.tools,
    roundTokens: limits?.contextTokens ?? UNKNOWN_CONTEXT,
  };
  const own = request.maxOutputTokens;
  const { reasoningTokens = 0 } = request;
  const outputTokens = own ?? Math.max(known ?? UNKNOWN_MODEL_OUTPUT, reasoningTokens);
  const mayCut = own === undefined && request.limitable !== false;
  const quoted: Quote = {
    card,
    listed: options.listed,
    heldTenths: options.heldTenths,
    inputTokens: options.inputTokens,
    outputTokens,
    choices,
    amount: 0,
    least: 0,
    mayCut,
    mustLimit: mayCut && known === undefined,
    unpriced: card === undefined || request.surcharges?.unknown !== undefined || tools?.unknown !== undefined,
    beyondLimit: request.beyondLimit ?? 0,
    reasoningTokens,
    possibleTokens: possibleTokens(options.provider, options.model),
    tools,
  };
  quoted.amount = costWith(quoted, outputTokens, tools?.calls);
  const leastTokens = leastOutput(quoted, options.minOutputTokens);
  quoted.least =
    leastTokens < outputTokens || tools ? costWith(quoted, leastTokens, tools?.leastCalls) : quoted.amount;
  return quoted;
}

/** What an answer is not cut below: the thoughts that are asked for, and the minimum behind them. */
function leastOutput({ mayCut, outputTokens, reasoningTokens }: Quote, minOutputTokens: number): number {
  return mayCut ? Math.min(reasoningTokens + minOutputTokens, outputTokens) : outputTokens;
}

/** The input that the model reads with so many calls of the provider's tools. */
export function inputWith({ inputTokens, tools }: Quote, calls = 0): number {
  return tools ? inputTokens + tools.roundsAt(calls) * tools.roundTokens : inputTokens;
}

/** The fees of so many calls of the provider's tools. */
export function feesWith({ tools }: Quote, calls = 0): NanoUsd {
  return tools ? tools.feesAt(calls) : 0;
}

function costWith(quoted: Quote, outputTokens: number, calls?: number): NanoUsd {
  const { card, choices, beyondLimit } = quoted;
  if (!card) return 0;
  const usage = {
    inputTokens: inputWith(quoted, calls),
    outputTokens: outputTokens + beyondLimit,
    choices,
  };
  const tokens = worstCase(usage, card);
  return Math.min(tokens + feesWith(quoted, calls), Number.MAX_SAFE_INTEGER);
}

export function costsNothing(quote: Quote): boolean {
  return quote.card !== undefined && isFree(quote.card) && !quote.tools;
}

/** What a room affords of a request. */
export interface Fitted {
  /** Of each choice. */
  outputTokens: number;
  /** Of the provider's tools. */
  calls: number | undefined;
  amount: NanoUsd;
}

/**
 * The request cut to what `room` affords: calls of the provider's tools go first, since an answer may do without
 * them, then output, down to the minimum. Undefined if that is too much or may not be cut.
 */
export function fitInto(quoted: Quote, room: NanoUsd, minOutputTokens: number): Fitted | undefined {
  const { card, choices, mayCut, tools } = quoted;
  if (!card || (!mayCut && !tools)) return undefined;
  let calls = tools?.leastCalls;
  const forTokens = room - feesWith(quoted, calls);
  if (forTokens < 0) return undefined;
  const affordable = affordableOutputTokens(forTokens, inputWith(quoted, calls), choices, card);
  const outputTokens = Math.min(affordable - quoted.beyondLimit, quoted.outputTokens);
  if (outputTokens < leastOutput(quoted, minOutputTokens)) return undefined;
  if (tools && calls !== undefined && outputTokens === quoted.outputTokens) {
    while (calls < tools.calls && costWith(quoted, outputTokens, calls + 1) <= room) calls++;
  }
  return { outputTokens, calls, amount: costWith(quoted, outputTokens, calls) };
}
