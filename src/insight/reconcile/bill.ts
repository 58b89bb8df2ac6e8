import { NANO_PER_USD, type NanoUsd } from '../../money.ts';

/** What a provider billed for a model on a UTC day. */
export interface BillLine {
  /** UTC, YYYY-MM-DD. */
  day: string;
  /** The provider's name of the model, or its words for what is no model, such as "web search tool calls". */
  model: string;
  nanoUsd: NanoUsd;
}

/** What a provider counted for a model on a UTC day. */
export interface UsageLine extends Pick<BillLine, 'day' | 'model'> {
  /** Cached input and cache writes included. */
  inputTokens: number;
  outputTokens: number;
}

/** A report that isn't of the documented form, or that the provider refused. The message is for the user. */
export class BillError extends Error {
  override readonly name = 'BillError';
}

const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** An amount in nano-USD of a number or decimal text, given in dollars or in a part of them (`perUsd` 100: cents). */
export function amountOf(value: unknown, perUsd = 1): NanoUsd {
  const text = typeof value === 'string' ? value.trim().replace(/^(-?)\$/, '$1') : value;
  const amount = typeof text === 'string' && DECIMAL.test(text) ? Number(text) : text;
  const nano = typeof amount === 'number' ? Math.round((amount * NANO_PER_USD) / perUsd) : Number.NaN;
  if (Number.isSafeInteger(nano)) return nano;
  throw new BillError(`${JSON.stringify(value)} is not an amount in dollars`);
}

/** Throws for any currency but US dollars, which the ledger is in. */
export function checkCurrency(currency: unknown): void {
  if (typeof currency === 'string' && currency !== '' && currency.toLowerCase() !== 'usd')
    throw new BillError(`the report is in ${JSON.stringify(currency)}; gw's ledger is in US dollars`);
}

/**
 * The model of a line item of OpenAI, such as "gpt-5.5-2026-04-23, cached input" or "priority | gpt-5.5, output, long
 * context". Items of no model stay as they are.
 */
export function modelOfLineItem(item: string): string {
  const [head = '', kind] = item.replace(/^[\w ]+ \| /, '').split(',');
  return kind === undefined ? item : (head.trim().split(' ')[0] ?? item);
}

/**
 * The day of a report's time: a UTC day or time, with or without a zone, or seconds since 1970. Undefined if it is
 * neither.
 */
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
