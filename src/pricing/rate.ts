/**
 * A price tier for long inputs. A request whose input exceeds the threshold pays the tier's price for all its tokens,
 * including those below the threshold. The length of the input determines the output price too.
 */
export interface RateTier {
  /** The tier applies above this number of input tokens. */
  readonly overTokens: number;
  /** Per token. */
  readonly picoUsd: bigint;
}

/** The price of one kind of token. */
export interface Rate {
  /** Per token, below the first tier. */
  readonly picoUsd: bigint;
  /** Ascending by `overTokens`. */
  readonly tiers: readonly RateTier[];
}

export const flatRate = (picoUsd: bigint): Rate => ({ picoUsd, tiers: [] });

export const FREE_RATE = flatRate(0n);

/** Pico-USD per token in a request with `inputTokens` of input. */
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

/** The rate times a factor, rounded up. The trillionth that is deducted covers the rounding error of doubles. */
export function timesFactor({ picoUsd, tiers }: Rate, factor: number): Rate {
  const scale = (price: bigint) => BigInt(Math.ceil(Number(price) * factor * (1 - 1e-12)));
  return { picoUsd: scale(picoUsd), tiers: tiers.map((tier) => ({ ...tier, picoUsd: scale(tier.picoUsd) })) };
}

/** The sum of two rates, for a token charged at both. */
export function addRates(a: Rate, b: Rate): Rate {
  const thresholds = [...new Set([...a.tiers, ...b.tiers].map(({ overTokens }) => overTokens))];
  const tiers = thresholds
    .sort((one, other) => one - other)
    .map((overTokens) => ({ overTokens, picoUsd: rateAt(a, overTokens + 1) + rateAt(b, overTokens + 1) }));
  return { picoUsd: a.picoUsd + b.picoUsd, tiers };
}

/**
 * The rate with tiers that start at their threshold instead of after it. It is unclear whether the threshold itself is
 * a long input: the price data has both 271,999 and 272,000 for OpenAI's models.
 */
export function fromOneTokenLess({ picoUsd, tiers }: Rate): Rate {
  return { picoUsd, tiers: tiers.map((tier) => ({ ...tier, overTokens: tier.overTokens - 1 })) };
}

/**
 * The maximum of the rates at every input length. It never falls as the input grows, even if a rate does, so that it
 * also bounds the cost of a request that is shorter than estimated.
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
