import { ANY_PRICE, PLAIN_TEXT, type PriceProfile, profileIndex } from './price-profile.ts';
import {
  addRates,
  dearestRate,
  FREE_RATE,
  flatRate,
  fromOneTokenLess,
  type Rate,
  scaleRate,
  timesFactor,
} from './rate.ts';

/** Kinds of token that have a price of their own. Reasoning is output. */
export const TOKEN_KINDS = [
  'input',
  'cachedInput',
  /** Written to the provider's prompt cache for its default lifetime. */
  'cacheWrite',
  'cacheWrite1h',
  'audioInput',
  'cachedAudioInput',
  'imageInput',
  'cachedImageInput',
  'output',
  'audioOutput',
  'imageOutput',
] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** A model's prices. completePrices() fills in missing kinds. */
export type Prices = Readonly<Record<TokenKind, Rate>> & { readonly perRequestPicoUsd: bigint };

/** The prices that a hold is for: every token is held at the dearest price that can apply to it. */
interface HoldPrices {
  readonly input: Rate;
  readonly output: Rate;
  readonly perRequestPicoUsd: bigint;
}

/**
 * A model's prices and their source: `genai-prices openai/gpt-4.1-mini`, `override my-model`. The prices settle a
 * request, `dearest` holds it.
 */
export type PriceCard = Prices & {
  readonly source: string;
  /** Upper bound of each price, over all that may take effect before a request is settled. */
  readonly bounds: Prices;
  /** Over all kinds of token, or over those that can occur in a request (cardFor). */
  readonly dearest: HoldPrices;
};

/** Prices as a source lists them; all but input and output are optional. */
export type StatedPrices = { [kind in TokenKind]?: Rate | undefined } & {
  input: Rate;
  output: Rate;
  perRequestPicoUsd?: bigint | undefined;
};

/** OpenAI's models that charge for cache writes, which happen without any mark in the request. */
const GPT_WITH_WRITE_PRICE = /\bgpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!\d)/i;

/**
 * Fills in the prices that a source leaves out, never with 0. Cache reads and writes cost as much as input, except for
 * Claude and for GPT-5.6 and later, where writes cost 1.25 times the input price, and twice for Claude's 1-hour lifetime.
 * Audio and images cost as much as text, as they do for Gemini Pro; audio models without an audio price get no card
 * (library-prices.ts).
 */
export function completePrices(stated: StatedPrices, model: string): Prices {
  const { input, output } = stated;
  const isClaude = /claude/i.test(model);
  const cachedInput = stated.cachedInput ?? input;
  const chargesWrites = isClaude || GPT_WITH_WRITE_PRICE.test(model);
  const cacheWrite = stated.cacheWrite ?? (chargesWrites ? scaleRate(input, 5n, 4n) : input);
  return {
    input,
    cachedInput,
    cacheWrite,
    cacheWrite1h: stated.cacheWrite1h ?? (isClaude ? scaleRate(input, 2n, 1n) : cacheWrite),
    audioInput: stated.audioInput ?? input,
    cachedAudioInput: stated.cachedAudioInput ?? stated.audioInput ?? cachedInput,
    imageInput: stated.imageInput ?? input,
    cachedImageInput: stated.cachedImageInput ?? stated.imageInput ?? cachedInput,
    output,
    audioOutput: stated.audioOutput ?? output,
    imageOutput: stated.imageOutput ?? output,
    perRequestPicoUsd: stated.perRequestPicoUsd ?? 0n,
  };
}

/** A card of the current prices. `upcoming` may take effect before a request is settled. */
export function createPriceCard(source: string, prices: Prices, upcoming: readonly Prices[] = []): PriceCard {
  const bounds = boundsOf([prices, ...upcoming]);
  return { source, ...prices, bounds, dearest: dearestOf(bounds, ANY_PRICE) };
}

/** A card for a model that is known to be free, as opposed to one whose price is unknown. */
export function freeCard(source: string): PriceCard {
  return createPriceCard(source, completePrices({ input: FREE_RATE, output: FREE_RATE }, ''));
}

/** By card, then profile: every request asks. */
const profiledCards = new WeakMap<PriceCard, PriceCard[]>();

/** The same prices, with `dearest` over those that can apply to requests of a profile. */
export function cardFor(card: PriceCard, profile: PriceProfile): PriceCard {
  const cards = profiledCards.get(card) ?? [];
  if (cards.length === 0) profiledCards.set(card, cards);
  const index = profileIndex(profile);
  const found = cards[index];
  if (found) return found;
  const made = { ...card, dearest: dearestOf(card.bounds, profile) };
  cards[index] = made;
  return made;
}

/** Whether `dearest` depends on this part of a profile; if not, nobody needs to know it of a request. */
export function dependsOn(card: PriceCard, part: Partial<PriceProfile>): boolean {
  const { input, output } = cardFor(card, { ...PLAIN_TEXT, ...part }).dearest;
  const plain = cardFor(card, PLAIN_TEXT).dearest;
  return !isSameRate(input, plain.input) || !isSameRate(output, plain.output);
}

function isSameRate(a: Rate, b: Rate): boolean {
  const { picoUsd, tiers } = b;
  return (
    a.picoUsd === picoUsd &&
    a.tiers.length === tiers.length &&
    a.tiers.every((tier, i) => tier.overTokens === tiers[i]?.overTokens && tier.picoUsd === tiers[i]?.picoUsd)
  );
}

/**
 * The prices of a request that other models may answer: settled at those of `card`, held at the dearest of all where only
 * the model that answers is billed, else at the sum.
 */
export function withFallbacks(
  card: PriceCard,
  others: readonly PriceCard[],
  billed: 'answering' | 'each',
): PriceCard {
  if (others.length === 0) return card;
  const all = [card, ...others].map(({ dearest }) => dearest);
  const combine = (rates: readonly Rate[]) =>
    billed === 'answering' ? dearestRate(rates) : rates.reduce(addRates);
  const dearest = {
    input: combine(all.map(({ input }) => input)),
    output: combine(all.map(({ output }) => output)),
    perRequestPicoUsd: combine(all.map(({ perRequestPicoUsd }) => flatRate(perRequestPicoUsd))).picoUsd,
  };
  return { ...card, dearest };
}

/** By card, then factor. */
const scaledCards = new WeakMap<PriceCard, Map<number, PriceCard>>();

/** The card with all prices times a factor. */
export function scaleCard(card: PriceCard, factor: number): PriceCard {
  const cards = scaledCards.get(card) ?? new Map<number, PriceCard>();
  scaledCards.set(card, cards);
  const found = cards.get(factor);
  if (found) return found;
  const by = (rate: Rate) => timesFactor(rate, factor);
  const scaled = {
    source: `${card.source} x ${Number(factor.toPrecision(4))}`,
    ...mapPrices(card, by),
    bounds: mapPrices(card.bounds, by),
    dearest: {
      input: by(card.dearest.input),
      output: by(card.dearest.output),
      perRequestPicoUsd: by(flatRate(card.dearest.perRequestPicoUsd)).picoUsd,
    },
  };
  cards.set(factor, scaled);
  return scaled;
}

/** By card, then factor. */
const raisedCards = new WeakMap<PriceCard, Map<number, PriceCard>>();

/** The same prices, with `dearest` times a factor: for a model that costs more than is listed. */
export function raiseHolds(card: PriceCard, factor: number): PriceCard {
  const cards = raisedCards.get(card) ?? new Map<number, PriceCard>();
  raisedCards.set(card, cards);
  const raised = cards.get(factor) ?? { ...card, dearest: scaleCard(card, factor).dearest };
  cards.set(factor, raised);
  return raised;
}

function mapPrices(prices: Prices, change: (rate: Rate) => Rate): Prices {
  return ratesBy((kind) => change(prices[kind]), change(flatRate(prices.perRequestPicoUsd)).picoUsd);
}

function boundsOf(all: readonly Prices[]): Prices {
  const perRequest = all.map(({ perRequestPicoUsd }) => flatRate(perRequestPicoUsd));
  return ratesBy((kind) => dearestRate(all.map((prices) => prices[kind])), dearestRate(perRequest).picoUsd);
}

function ratesBy(rateOf: (kind: TokenKind) => Rate, perRequestPicoUsd: bigint): Prices {
  const rates = Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, rateOf(kind)]));
  // One rate for each kind.
  return { ...(rates as Record<TokenKind, Rate>), perRequestPicoUsd };
}

function dearestOf(
  bounds: Prices,
  { cacheWrites, audioInput, audioOutput, longInput }: PriceProfile,
): HoldPrices {
  const input = [bounds.input, bounds.cachedInput, bounds.imageInput, bounds.cachedImageInput];
  if (cacheWrites !== 'none') input.push(writeRate(bounds));
  if (cacheWrites === '1h') input.push(bounds.cacheWrite1h);
  if (audioInput) input.push(bounds.audioInput, bounds.cachedAudioInput);
  const output = [bounds.output, bounds.imageOutput];
  if (audioOutput) output.push(bounds.audioOutput);
  const dearest = (rates: readonly Rate[]) =>
    longInput ? fromOneTokenLess(dearestRate(rates)) : flatRate(dearestRate(rates).picoUsd);
  return { input: dearest(input), output: dearest(output), perRequestPicoUsd: bounds.perRequestPicoUsd };
}

/** A write price below the input price is a fee for storage on top of it: OpenRouter lists Gemini's so. */
function writeRate({ input, cacheWrite }: Prices): Rate {
  return cacheWrite.picoUsd < input.picoUsd ? addRates(input, cacheWrite) : cacheWrite;
}
