import type { Settings } from '../../config/settings.ts';
import { formatUsd, NANO_PER_USD, parseUsd, usdNumber } from '../../money.ts';
import { PRESETS } from '../../providers/presets.ts';
import { usageError } from '../exit.ts';

const PICO_PER_NANO = 1_000;
const MILLION = 1_000_000;
/** Up to here, a fee in pico-USD is an exact number. */
const MAX_FEE_NANO = 1_000 * NANO_PER_USD;

/** Parses dollars per million tokens as integer pico-USD per token: $1 is 1,000,000. */
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

/** Parses dollars per request as integer pico-USD. */
export function readFee(text: string, option: string): number {
  const nano = parseUsd(text);
  if (nano === undefined || nano > MAX_FEE_NANO) {
    throw usageError(
      `${option} ${text} is not a fee: use dollars per request, from 0 to 1000, such as 0.005`,
    );
  }
  return nano * PICO_PER_NANO;
}

/** Converts pico-USD per token to dollars per million tokens. */
export function usdPerMillion(pico: number | undefined): number | null {
  return pico === undefined ? null : pico / MILLION;
}

export function perMillion(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(pico * PICO_PER_NANO);
}

export function feeText(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(Math.ceil(pico / PICO_PER_NANO));
}

/** Converts a fee in pico-USD to dollars. */
export function feeUsd(pico: number | undefined): number | null {
  return pico === undefined ? null : usdNumber(Math.ceil(pico / PICO_PER_NANO));
}

/**
 * Parses `provider/model`, or the name of a model at any provider. Model names can contain slashes, so the part before
 * the first one counts as a provider only if it names a known one.
 */
export function modelOf(
  text: string,
  { providers }: Pick<Settings, 'providers'>,
): { provider: string; model: string } {
  const slash = text.indexOf('/');
  const first = text.slice(0, Math.max(0, slash));
  const isProvider = Object.hasOwn(PRESETS, first) || Object.hasOwn(providers, first) || first === 'sandbox';
  return isProvider ? { provider: first, model: text.slice(slash + 1) } : { provider: '', model: text };
}
