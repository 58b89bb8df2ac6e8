import { dearestRate, FREE_RATE, flatRate, type Rate, scaleRate } from './rate.ts';

/** What a model costs. Reasoning is output; a kind of token without a price of its own has another's. */
export interface Prices {
  readonly input: Rate;
  readonly cachedInput: Rate;
  /** Written to the provider's prompt cache for its default life. */
  readonly cacheWrite: Rate;
  readonly cacheWrite1h: Rate;
  readonly audioInput: Rate;
  readonly cachedAudioInput: Rate;
  readonly output: Rate;
  readonly audioOutput: Rate;
  readonly perRequestPicoUsd: bigint;
}

/** The prices of a model and where they are from: `genai-prices openai/gpt-4.1-mini`, `override my-model`. */
export interface PriceCard extends Prices {
  readonly source: string;
  /** Upper bounds for a hold, over all kinds of token and all prices that may apply until it is settled. */
  readonly dearest: {
    readonly input: Rate;
    readonly output: Rate;
    readonly perRequestPicoUsd: bigint;
  };
}

/** Prices as a source states them: input and output, and of the others those that it has. */
export interface StatedPrices {
  input: Rate;
  output: Rate;
  cachedInput?: Rate | undefined;
  cacheWrite?: Rate | undefined;
  cacheWrite1h?: Rate | undefined;
  audioInput?: Rate | undefined;
  cachedAudioInput?: Rate | undefined;
  audioOutput?: Rate | undefined;
  perRequestPicoUsd?: bigint | undefined;
}

/**
 * Fills in what a source leaves out, never with 0: cached and written input costs what input does, but for
 * Claude, whose cache writes cost 1.25 times the input, and twice the input for an hour; audio costs what
 * text does, as with Gemini Pro (an audio model whose price is missing gets no card: library-prices.ts).
 */
export function completePrices(stated: StatedPrices, model: string): Prices {
  const { input, output } = stated;
  const isClaude = /claude/i.test(model);
  const cachedInput = stated.cachedInput ?? input;
  const cacheWrite = stated.cacheWrite ?? (isClaude ? scaleRate(input, 5n, 4n) : input);
  return {
    input,
    cachedInput,
    cacheWrite,
    cacheWrite1h: stated.cacheWrite1h ?? (isClaude ? scaleRate(input, 2n, 1n) : cacheWrite),
    audioInput: stated.audioInput ?? input,
    cachedAudioInput: stated.cachedAudioInput ?? stated.audioInput ?? cachedInput,
    output,
    audioOutput: stated.audioOutput ?? output,
    perRequestPicoUsd: stated.perRequestPicoUsd ?? 0n,
  };
}

/** A card of the prices now; `upcoming` are others that may come into force before a request has settled. */
export function createPriceCard(source: string, prices: Prices, upcoming: readonly Prices[] = []): PriceCard {
  const all = [prices, ...upcoming];
  return {
    source,
    ...prices,
    dearest: {
      input: dearestRate(all.flatMap(inputRates)),
      output: dearestRate(all.flatMap((each) => [each.output, each.audioOutput])),
      perRequestPicoUsd: dearestRate(all.map((each) => flatRate(each.perRequestPicoUsd))).picoUsd,
    },
  };
}

/** A card for what is known to cost nothing, which is not the same as a price that nobody knows. */
export function freeCard(source: string): PriceCard {
  return createPriceCard(source, completePrices({ input: FREE_RATE, output: FREE_RATE }, ''));
}

/** The card with all its prices so many tenths of what they are. */
export function scaleCard(card: PriceCard, tenths: number): PriceCard {
  const by = (rate: Rate) => scaleRate(rate, BigInt(tenths), 10n);
  const fee = (picoUsd: bigint) => by(flatRate(picoUsd)).picoUsd;
  return {
    source: `${card.source} x ${tenths / 10}`,
    input: by(card.input),
    cachedInput: by(card.cachedInput),
    cacheWrite: by(card.cacheWrite),
    cacheWrite1h: by(card.cacheWrite1h),
    audioInput: by(card.audioInput),
    cachedAudioInput: by(card.cachedAudioInput),
    output: by(card.output),
    audioOutput: by(card.audioOutput),
    perRequestPicoUsd: fee(card.perRequestPicoUsd),
    dearest: {
      input: by(card.dearest.input),
      output: by(card.dearest.output),
      perRequestPicoUsd: fee(card.dearest.perRequestPicoUsd),
    },
  };
}

function inputRates(prices: Prices): Rate[] {
  return [
    prices.input,
    prices.cachedInput,
    prices.cacheWrite,
    prices.cacheWrite1h,
    prices.audioInput,
    prices.cachedAudioInput,
  ];
}
