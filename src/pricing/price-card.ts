import { ANY_PRICE, PLAIN_TEXT, type PriceProfile, profileIndex } from './price-profile.ts';
import {
  addRates,
  dearestRate,
  FREE_RATE,
  flatRate,
  fromOneTokenLess,
  type Rate,
  rateAt,
  scaleRate,
  timesFactor,
} from './rate.ts';

/** Kinds of tokens with separate prices. Reasoning is output. */
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

/** Prices for holds: every token is held at the dearest price that may apply to it. */
type HoldPrices = Pick<Prices, 'input' | 'output' | 'perRequestPicoUsd'>;

/**
 * A model's prices and their source: `genai-prices openai/gpt-4.1-mini`, `override my-model`. Requests are held at
 * `dearest` and settled at the prices themselves.
 */
export type PriceCard = Prices & {
  readonly source: string;
  /** Upper bound of each price, including prices that may take effect before a request is settled. */
  readonly bounds: Prices;
  /** The dearest of all kinds of tokens, or of those possible in a request (cardFor). */
  readonly dearest: HoldPrices;
};

/** Prices as listed by a source. All except input and output are optional. */
export type StatedPrices = { [kind in TokenKind]?: Rate | undefined } & {
  input: Rate;
  output: Rate;
  perRequestPicoUsd?: bigint | undefined;
};

/** OpenAI models that charge for cache writes, which they make without any marker in the request. */
const GPT_WITH_WRITE_PRICE = /\bgpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)(?!\d)/i;

/**
 * Fills in prices missing from a source, never with 0. Cache reads and writes cost as much as input, with these
 * exceptions: writes cost 1.25 times the input price for Claude and for GPT-5.6 and later, and twice the input price
 * for Claude's 1-hour lifetime. Audio and images cost as much as text, as they do for Gemini Pro. Audio models without
 * an audio price get no card (library-prices.ts).
 */
export function completePrices(prices: StatedPrices, model: string): Prices {
  const { input, output } = prices;
  const isClaude = /claude/i.test(model);
  const cachedInput = prices.cachedInput ?? input;
  const chargesWrites = isClaude || GPT_WITH_WRITE_PRICE.test(model);
  const cacheWrite = prices.cacheWrite ?? (chargesWrites ? scaleRate(input, 5n, 4n) : input);
  return {
    input,
    cachedInput,
    cacheWrite,
    cacheWrite1h: prices.cacheWrite1h ?? (isClaude ? scaleRate(input, 2n, 1n) : cacheWrite),
    audioInput: prices.audioInput ?? input,
    cachedAudioInput: prices.cachedAudioInput ?? prices.audioInput ?? cachedInput,
    imageInput: prices.imageInput ?? input,
    cachedImageInput: prices.cachedImageInput ?? prices.imageInput ?? cachedInput,
    output,
    audioOutput: prices.audioOutput ?? output,
    imageOutput: prices.imageOutput ?? output,
    perRequestPicoUsd: prices.perRequestPicoUsd ?? 0n,
  };
}

/** A card of the current prices. `upcoming` may take effect before a request is settled. */
export function createPriceCard(source: string, prices: Prices, upcoming: readonly Prices[] = []): PriceCard {
  const bounds = boundsOf([prices, ...upcoming]);
  return { source, ...prices, bounds, dearest: dearestOf(bounds, ANY_PRICE) };
}

/** A card for a model that is known to be free, unlike one whose price is unknown. */
export function freeCard(source: string): PriceCard {
  return createPriceCard(source, completePrices({ input: FREE_RATE, output: FREE_RATE }, ''));
}

/** By card, then profile. Read for every request. */
const profiledCards = new WeakMap<PriceCard, PriceCard[]>();

/** The same prices, with `dearest` limited to those possible in requests of a profile. */
export function cardFor(card: PriceCard, profile: PriceProfile): PriceCard {
  const cards = profiledCards.get(card) ?? [];
  if (cards.length === 0) profiledCards.set(card, cards);
  const index = profileIndex(profile);
  const cached = cards[index];
  if (cached) return cached;
  const profiled = { ...card, dearest: dearestOf(card.bounds, profile) };
  cards[index] = profiled;
  return profiled;
}

/** Whether `dearest` depends on this part of a profile. If not, the part needn't be determined. */
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
 * Prices of a request that other models may answer. They settle as in `card`. `dearest` is the maximum over all models
 * if only the answering model is billed, otherwise the sum.
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

export function scaleCard(card: PriceCard, factor: number): PriceCard {
  const cards = scaledCards.get(card) ?? new Map<number, PriceCard>();
  scaledCards.set(card, cards);
  const cached = cards.get(factor);
  if (cached) return cached;
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

/** The prices of requests with so many input tokens. */
export const cardAt = (card: PriceCard, inputTokens: number): PriceCard => ({
  ...card,
  ...mapPrices(card, (rate) => flatRate(rateAt(rate, inputTokens))),
});

/** By card, then factor. */
const raisedCards = new WeakMap<PriceCard, Map<number, PriceCard>>();

/** The same prices, with `dearest` times a factor, for a model that costs more than its list price. */
export function raiseHolds(card: PriceCard, factor: number): PriceCard {
  const cards = raisedCards.get(card) ?? new Map<number, PriceCard>();
  raisedCards.set(card, cards);
  const raised = cards.get(factor) ?? { ...card, dearest: scaleCard(card, factor).dearest };
  cards.set(factor, raised);
  return raised;
}

/** The same prices, held with a fee for each input token beside them. */
export function holdInputFee(card: PriceCard, fee: Rate): PriceCard {
  return { ...card, dearest: { ...card.dearest, input: addRates(card.dearest.input, fee) } };
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
  // The cast is safe: `rates` has one rate per kind.
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

/** A write price below the input price is a storage fee in addition to it, as OpenRouter lists for Gemini. */
function writeRate({ input, cacheWrite }: Prices): Rate {
  return cacheWrite.picoUsd < input.picoUsd ? addRates(input, cacheWrite) : cacheWrite;
}
