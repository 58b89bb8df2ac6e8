import type { Settings } from '../../config/settings.ts';
import { formatUsd, NANO_PER_USD, parseUsd, usdNumber } from '../../money.ts';
import { PRESETS } from '../../providers/presets.ts';
import { usageError } from '../exit.ts';

const PICO_PER_NANO = 1_000;
const MILLION = 1_000_000;
/** Its pico-USD are still exact as a number. */
const MAX_FEE_NANO = 1_000 * NANO_PER_USD;

/** Reads dollars for a million tokens as integer pico-USD for one: $1 is 1,000,000. */
export function readPrice(text: string, option: string): number {
  const nanoPerMillion = parseUsd(text);
  const pico = nanoPerMillion === undefined ? undefined : nanoPerMillion / PICO_PER_NANO;
  if (pico === undefined || !Number.isInteger(pico)) {
    throw usageError(
      `${option} ${text} is not a price: use dollars per million tokens with at most 6 decimal places, such as 2.50`,
    );
  }
  return pico;
}

/** Reads dollars for a request as integer pico-USD. */
export function readFee(text: string, option: string): number {
  const nano = parseUsd(text);
  if (nano === undefined || nano > MAX_FEE_NANO) {
    throw usageError(
      `${option} ${text} is not a fee: use dollars per request, from 0 to 1000, such as 0.005`,
    );
  }
  return nano * PICO_PER_NANO;
}

/** Dollars for a million tokens, of a price in pico-USD for one. */
export function usdPerMillion(pico: number | undefined): number | null {
  return pico === undefined ? null : pico / MILLION;
}

export function perMillion(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(pico * PICO_PER_NANO);
}

export function feeText(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(Math.ceil(pico / PICO_PER_NANO));
}

/** Dollars for a request, of a fee in pico-USD. */
export function feeUsd(pico: number | undefined): number | null {
  return pico === undefined ? null : usdNumber(Math.ceil(pico / PICO_PER_NANO));
}

/**
 * Reads `provider/model`, or a model at any provider. Model names have slashes of their own: only the name of a
 * known provider before the first one is taken for a provider.
 */
export function modelOf(
  text: string,
  { providers }: Pick<Settings, 'providers'>,
): { provider: string; model: string } {
  const slash = text.indexOf('/');
  const first = text.slice(0, Math.max(0, slash));
  const known = Object.hasOwn(PRESETS, first) || Object.hasOwn(providers, first) || first === 'sandbox';
  return known ? { provider: first, model: text.slice(slash + 1) } : { provider: '', model: text };
}
