import { dearestRate, FREE_RATE, flatRate, type Rate, scaleRate } from './rate.ts';

/** A model's prices by kind of token. Reasoning is output. completePrices() fills in missing kinds. */
export interface Prices {
  readonly input: Rate;
  readonly cachedInput: Rate;
  /** Written to the provider's prompt cache for its default lifetime. */
  readonly cacheWrite: Rate;
  readonly cacheWrite1h: Rate;
  readonly audioInput: Rate;
  readonly cachedAudioInput: Rate;
  readonly output: Rate;
  readonly audioOutput: Rate;
  readonly perRequestPicoUsd: bigint;
}

/** A model's prices and their source: `genai-prices openai/gpt-4.1-mini`, `override my-model`. */
export interface PriceCard extends Prices {
  readonly source: string;
  /** Upper bounds for a hold: over all kinds of token, and all prices that may take effect before it is settled. */
  readonly dearest: {
    readonly input: Rate;
    readonly output: Rate;
    readonly perRequestPicoUsd: bigint;
  };
}

/** Prices as a source lists them; all but input and output are optional. */
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
 * Fills in the prices that a source leaves out, never with 0. Cache reads and writes cost as much as input, except for
 * Claude, where writes cost 1.25 times the input price, or twice for the 1-hour lifetime. Audio costs as much as text,
 * as it does for Gemini Pro; audio models without an audio price get no card (library-prices.ts).
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

/** A card of the current prices. `upcoming` may take effect before a request is settled. */
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

/** A card for a model that is known to be free, as opposed to one whose price is unknown. */
export function freeCard(source: string): PriceCard {
  return createPriceCard(source, completePrices({ input: FREE_RATE, output: FREE_RATE }, ''));
}

/** The card with all prices times `tenths` / 10. */
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
