import { type Amount, amountOf, type Bound, type NanoUsd } from '../money.ts';
import type { TokenUsage } from '../usage.ts';
import { nanoFromPico, picoFromNano } from './pico.ts';
import type { PriceCard } from './price-card.ts';
import { type Rate, rateAt } from './rate.ts';

/** Upper bound of a request's usage. */
export interface UsageBound {
  inputTokens: number;
  /** Per choice. */
  outputTokens: number;
  choices: number;
}

/** The cost of usage, rounded up to nano-USD once. Parts must not exceed their totals, as readUsage() ensures. */
export function costOf(usage: TokenUsage, card: PriceCard): Amount {
  const price = (tokens: number, rate: Rate) =>
    tokens === 0 ? 0n : BigInt(tokens) * rateAt(rate, usage.inputTokens);
  const freshText =
    usage.inputTokens -
    usage.cachedInputTokens -
    usage.cacheWriteTokens -
    usage.cacheWrite1hTokens -
    usage.audioInputTokens -
    usage.imageInputTokens;
  const cachedText = usage.cachedInputTokens - usage.cachedAudioInputTokens - usage.cachedImageInputTokens;
  const textOutput = usage.outputTokens - usage.audioOutputTokens - usage.imageOutputTokens;
  const pico =
    card.perRequestPicoUsd +
    price(freshText, card.input) +
    price(usage.audioInputTokens, card.audioInput) +
    price(usage.imageInputTokens, card.imageInput) +
    price(cachedText, card.cachedInput) +
    price(usage.cachedImageInputTokens, card.cachedImageInput) +
    price(usage.cachedAudioInputTokens, card.cachedAudioInput) +
    price(usage.cacheWriteTokens, card.cacheWrite) +
    price(usage.cacheWrite1hTokens, card.cacheWrite1h) +
    price(textOutput, card.output) +
    price(usage.audioOutputTokens, card.audioOutput) +
    price(usage.imageOutputTokens, card.imageOutput);
  return amountOf(nanoFromPico(pico));
}

/** Upper bound of the cost: every token at the dearest price that may apply to it. */
export function worstCase({ inputTokens, outputTokens, choices }: UsageBound, card: PriceCard): Bound {
  const output = BigInt(outputTokens) * BigInt(choices) * rateAt(card.dearest.output, inputTokens);
  return nanoFromPico(worstInputPico(inputTokens, card) + output) as Bound;
}

/**
 * The largest output limit per choice whose worst case fits into `roomNanoUsd`. `Number.MAX_SAFE_INTEGER` if output is
 * free, -1 if the input alone doesn't fit.
 */
export function affordableOutputTokens(
  roomNanoUsd: NanoUsd,
  inputTokens: number,
  choices: number,
  card: PriceCard,
): number {
  const left = picoFromNano(roomNanoUsd) - worstInputPico(inputTokens, card);
  if (left < 0n) return -1;
  const perToken = BigInt(choices) * rateAt(card.dearest.output, inputTokens);
  if (perToken === 0n) return Number.MAX_SAFE_INTEGER;
  return Math.min(Number(left / perToken), Number.MAX_SAFE_INTEGER);
}

/** Whether every request is free. Free models pass an exhausted budget. */
export function isFree(card: PriceCard): boolean {
  return card.dearest.perRequestPicoUsd === 0n && hasNoTokenPrice(card);
}

/** Whether tokens are free, so that a request costs at most its per-request price. */
export function hasNoTokenPrice({ dearest }: PriceCard): boolean {
  return [dearest.input, dearest.output].every((rate) => rate.picoUsd === 0n && rate.tiers.length === 0);
}

function worstInputPico(inputTokens: number, { dearest }: PriceCard): bigint {
  return dearest.perRequestPicoUsd + BigInt(inputTokens) * rateAt(dearest.input, inputTokens);
}
