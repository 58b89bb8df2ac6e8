/**
 * An amount in integer nano-USD (1 USD = 1e9), which a JavaScript number holds exactly up to about 9 million dollars.
 * Prices are in integer pico-USD per token (pricing/pico.ts).
 */
export type NanoUsd = number;

declare const KIND: unique symbol;
/** Upper bound of a cost: the amount of a hold. Not assignable to `Amount`. */
export type Bound = NanoUsd & { readonly [KIND]: 'bound' };
/** A cost that is booked. */
export type Amount = NanoUsd & { readonly [KIND]: 'amount' };

/** A cost computed from the usage, or the cost, that a response reports. */
export const amountOf = <T extends NanoUsd>(cost: T extends Bound ? never : T): Amount =>
  cost as NanoUsd as Amount;
/** Books the upper bound if the real cost is unknown. The record is flagged `estimated`. */
export const bookBound = (bound: Bound): Amount => bound as NanoUsd as Amount;
export const NO_COST = 0 as Amount;

export const NANO_PER_USD = 1_000_000_000;

/** No cap or price may exceed this, so that sums stay safe integers. */
export const MAX_AMOUNT_NANO_USD: NanoUsd = 1_000_000 * NANO_PER_USD;

/** Allows commas between thousands only: `1,5` is a typo for 1.5, not fifteen dollars. */
const DECIMAL = /^\$?(\d{1,9}|\d{1,3}(?:,\d{3})+)(?:\.(\d{1,9}))?$/;

/** Parses a decimal dollar amount such as `20`, `$0.5` or `3.141592653` exactly; undefined if invalid. */
export function parseUsd(text: string): NanoUsd | undefined {
  const match = DECIMAL.exec(text.trim());
  if (!match) return undefined;
  const dollars = Number(match[1]?.replaceAll(',', ''));
  const amount = dollars * NANO_PER_USD + Number((match[2] ?? '').padEnd(9, '0'));
  return amount <= MAX_AMOUNT_NANO_USD ? amount : undefined;
}

/** The amount in dollars, with at most 9 decimal places, for JSON. */
export function usdNumber(amount: NanoUsd): number {
  const dollars = amount / NANO_PER_USD;
  // Dividing two integers gives the double nearest to the decimal. The text conversion is slow.
  return Number.isInteger(amount) ? dollars : Number(dollars.toFixed(9));
}

/** An amount as JSON has it: `cost_usd` beside `cost_nano_usd`. */
export const usdFields = <Name extends string>(name: Name, amount: NanoUsd) =>
  ({ [`${name}_usd`]: usdNumber(amount), [`${name}_nano_usd`]: amount }) as Record<
    `${Name}_usd` | `${Name}_nano_usd`,
    number
  >;

/** The amount for display: `$1,234.56`; below a cent with two significant digits. */
export function formatUsd(amount: NanoUsd): string {
  const sign = amount < 0 ? '-' : '';
  const dollars = Math.abs(amount) / NANO_PER_USD;
  if (dollars === 0) return '$0.00';
  if (dollars >= 0.01) return `${sign}$${inDigits(dollars < 1 ? 4 : 2).format(dollars)}`;
  const places = Math.min(9, 1 - Math.floor(Math.log10(dollars)));
  return `${sign}$${dollars.toFixed(places)}`;
}

const formats = new Map<number, Intl.NumberFormat>();

/** Cached, because creating a format takes longer than using it 100 times. */
function inDigits(maximumFractionDigits: number): Intl.NumberFormat {
  const cached = formats.get(maximumFractionDigits);
  if (cached) return cached;
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits });
  formats.set(maximumFractionDigits, format);
  return format;
}
