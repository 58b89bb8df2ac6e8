import { formatUsd, NANO_PER_USD, parseUsd } from '../../money.ts';
import { usageError } from '../exit.ts';

const PICO_PER_NANO = 1_000;
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

export function perMillion(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(pico * PICO_PER_NANO);
}

export function feeText(pico: number | undefined): string {
  return pico === undefined ? '-' : formatUsd(Math.ceil(pico / PICO_PER_NANO));
}
