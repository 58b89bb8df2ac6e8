/**
 * The price of one kind of token. Tiers are those of the providers: a request whose input is longer than a
 * threshold pays the tier's price for all its tokens, not only for those beyond the threshold, and its input
 * decides for its output as well.
 */
export interface RateTier {
  /** The tier holds for requests with more input tokens than this. */
  readonly overTokens: number;
  /** Per token. */
  readonly picoUsd: bigint;
}

export interface Rate {
  /** Per token, below the first tier. */
  readonly picoUsd: bigint;
  /** Ascending by `overTokens`. */
  readonly tiers: readonly RateTier[];
}

export function flatRate(picoUsd: bigint): Rate {
  return { picoUsd, tiers: [] };
}

export const FREE_RATE = flatRate(0n);

/** Pico-USD per token in a request with this much input. */
export function rateAt(rate: Rate, inputTokens: number): bigint {
  let picoUsd = rate.picoUsd;
  for (const tier of rate.tiers) if (inputTokens > tier.overTokens) picoUsd = tier.picoUsd;
  return picoUsd;
}

/** The rate times a fraction, rounded up. */
export function scaleRate(rate: Rate, numerator: bigint, denominator: bigint): Rate {
  const scale = (picoUsd: bigint) => (picoUsd * numerator + denominator - 1n) / denominator;
  return {
    picoUsd: scale(rate.picoUsd),
    tiers: rate.tiers.map(({ overTokens, picoUsd }) => ({ overTokens, picoUsd: scale(picoUsd) })),
  };
}

/**
 * The dearest of the rates at every length of input. It never falls as the input grows, even where a rate
 * does, so that it also bounds what a request shorter than expected costs.
 */
export function dearestRate(rates: readonly Rate[]): Rate {
  const thresholds = new Set(rates.flatMap((rate) => rate.tiers.map((tier) => tier.overTokens)));
  const base = largest(rates.map((rate) => rate.picoUsd));
  const tiers: RateTier[] = [];
  let dearest = base;
  for (const overTokens of [...thresholds].sort((a, b) => a - b)) {
    const picoUsd = largest(rates.map((rate) => rateAt(rate, overTokens + 1)));
    if (picoUsd <= dearest) continue;
    dearest = picoUsd;
    tiers.push({ overTokens, picoUsd });
  }
  return { picoUsd: base, tiers };
}

function largest(amounts: readonly bigint[]): bigint {
  let most = 0n;
  for (const amount of amounts) if (amount > most) most = amount;
  return most;
}
