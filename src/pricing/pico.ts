/**
 * Pico-USD: 1 USD = 1e12. One dollar per million tokens is 1,000,000 pico-USD per token, so every published price is an
 * integer, and sums of tokens x price are exact in BigInt.
 */
import type { NanoUsd } from '../money.ts';

const PICO_PER_NANO = 1_000n;
const LARGEST_NANO = BigInt(Number.MAX_SAFE_INTEGER);

/** A plain decimal, or the exponent form in which JavaScript prints very small and very large numbers. */
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,30}))?(?:e([+-]\d{1,3}))?$/;

/**
 * The decimal times 10^places as an integer, computed from its text to avoid floating-point errors. Finer digits are
 * rounded up, because a price must not be too low. Undefined if the text is not a decimal.
 */
export function scaleDecimal(text: string, places: number): bigint | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift = places - fraction.length + Number(exponent);
  return shift >= 0 ? digits * 10n ** BigInt(shift) : divideUp(digits, 10n ** BigInt(-shift));
}

/** The amount rounded up to nano-USD, at most the largest safe integer. */
export function nanoFromPico(pico: bigint): NanoUsd {
  const nano = divideUp(pico, PICO_PER_NANO);
  return Number(nano < LARGEST_NANO ? nano : LARGEST_NANO);
}

/** The largest amount in pico-USD that rounds up to `nano`. */
export const picoFromNano = (nano: NanoUsd): bigint => BigInt(nano) * PICO_PER_NANO;

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;
