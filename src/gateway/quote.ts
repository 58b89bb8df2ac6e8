import type { NanoUsd } from '../money.ts';
import { affordableOutputTokens, isFree, worstCase } from '../pricing/cost.ts';
import { modelLimits } from '../pricing/limits.ts';
import type { PriceCard } from '../pricing/price-card.ts';
import type { WireRequest } from './wire/wire.ts';

/** What a request can cost at most. */
export interface Quote {
  card: PriceCard | undefined;
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
}

/** What a model whose maximum is unknown is allowed, where the request sets no limit. */
const UNKNOWN_MODEL_OUTPUT = 32_000;

export interface QuoteOptions {
  provider: string;
  model: string;
  card: PriceCard | undefined;
  /** Bound of the input tokens. */
  inputTokens: number;
  /** A request without a limit of its own is not cut below this. */
  minOutputTokens: number;
}

/** The worst case: the input's bound at the dearest input price and the output's at the output price, times choices. */
export function quote(request: WireRequest, options: QuoteOptions): Quote {
  const { card, inputTokens } = options;
  const { choices } = request;
  const known = modelLimits(options.provider, options.model)?.maxOutputTokens;
  const own = request.maxOutputTokens;
  const outputTokens = own ?? known ?? UNKNOWN_MODEL_OUTPUT;
  const mayCut = own === undefined && request.limitable !== false;
  const cost = (tokens: number) =>
    card ? worstCase({ inputTokens, outputTokens: tokens, choices }, card) : 0;
  const amount = Math.min(cost(outputTokens), Number.MAX_SAFE_INTEGER);
  return {
    card,
    inputTokens,
    outputTokens,
    choices,
    amount,
    least: mayCut ? Math.min(amount, cost(Math.min(outputTokens, options.minOutputTokens))) : amount,
    mayCut,
    mustLimit: mayCut && known === undefined,
    unpriced: card === undefined || request.terms?.unknown !== undefined,
  };
}

export function costsNothing(quote: Quote): boolean {
  return quote.card !== undefined && isFree(quote.card);
}

/** The output tokens of each choice that `room` affords, if that is at least the minimum; undefined if not. */
export function outputThatFits(quote: Quote, room: NanoUsd, minOutputTokens: number): number | undefined {
  if (!quote.card || !quote.mayCut) return undefined;
  const tokens = affordableOutputTokens(room, quote.inputTokens, quote.choices, quote.card);
  const least = Math.min(minOutputTokens, quote.outputTokens);
  return tokens < least ? undefined : Math.min(tokens, quote.outputTokens);
}
