import { NANO_PER_USD, type NanoUsd } from '../../money.ts';

/** A provider's charge for a model on a UTC day. */
export interface BillLine {
  /** UTC, YYYY-MM-DD. */
  day: string;
  /** The provider's model name, or its name for another item, such as "web search tool calls". */
  model: string;
  nanoUsd: NanoUsd;
}

/** A provider's token counts for a model on a UTC day. */
export interface UsageLine extends Pick<BillLine, 'day' | 'model'> {
  /** Includes cached input and cache writes. */
  inputTokens: number;
  outputTokens: number;
}

/** A report that the provider refused, or that isn't in the documented format. The message is for the user. */
export class BillError extends Error {
  override readonly name = 'BillError';
}

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Converts a number or decimal text in dollars, or in a fraction of them (`perUsd` 100: cents), to nano-USD. */
export function amountOf(value: unknown, perUsd = 1): NanoUsd {
  const text = typeof value === 'string' ? value.trim().replace(/^(-?)\$/, '$1') : value;
  const amount = typeof text === 'string' && DECIMAL.test(text) ? Number(text) : text;
  const nano = typeof amount === 'number' ? Math.round((amount * NANO_PER_USD) / perUsd) : Number.NaN;
  if (Number.isSafeInteger(nano)) return nano;
  throw new BillError(`${JSON.stringify(value)} is not an amount in dollars`);
}

/** Throws for any currency except US dollars, the ledger's currency. */
export function checkCurrency(currency: unknown): void {
  if (typeof currency === 'string' && currency !== '' && currency.toLowerCase() !== 'usd')
    throw new BillError(`the report is in ${JSON.stringify(currency)}; gw's ledger is in US dollars`);
}

/**
 * The model in an OpenAI line item, such as "gpt-5.5-2026-04-23, cached input" or "priority | gpt-5.5, output, long
 * context". Items without a model stay unchanged.
 */
export function modelOfLineItem(item: string): string {
  const [head = '', kind] = item.replace(/^[\w ]+ \| /, '').split(',');
  return kind === undefined ? item : (head.trim().split(' ')[0] ?? item);
}

/** The UTC day of a date, a time with or without a zone, or seconds since 1970. Undefined for anything else. */
export function dayOf(time: string | number): string | undefined {
  const text = String(time).trim();
  if (/^\d{4}-\d{2}-\d{2}([T ][\d:.]*)?( ?UTC)?$/i.test(text)) return text.slice(0, 10);
  const ms = /^\d{9,11}(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : /^\d{4}-/.test(text)
      ? Date.parse(text)
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().slice(0, 10);
}
