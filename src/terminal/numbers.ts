import { formatUsd, NANO_PER_USD } from '../money.ts';

const UNITS = [
  ['B', 1e9],
  ['M', 1e6],
  ['k', 1e3],
] as const;

/** An amount in dollars: `$1.25`. */
export const usdText = (usd: number): string => formatUsd(Math.round(usd * NANO_PER_USD));

/** `1,234`. */
export const count = (value: number): string => value.toLocaleString('en-US');

/** A token count: exact below 100,000, then with three digits: `1.24M`. */
export function tokens(value: number): string {
  if (value < 100_000) return count(value);
  // Values from 999,500 on would round to 1000k.
  const [unit, size] = UNITS.find(([, limit]) => value >= limit * 0.9995) ?? ['', 1];
  const scaled = value / size;
  return `${scaled.toFixed(scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2)}${unit}`;
}

/** `1 request`, `2 requests`. */
export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** A share in whole percent; 100% only from a share of 1 on. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return '100%';
  return `${share < 1 ? Math.min(99, Math.round(share * 100)) : Math.floor(share * 100)}%`;
}

/** `412 B`, `412.0 kB`. */
export function bytes(value: number): string {
  const [unit, size] = UNITS.find(([, limit]) => value >= limit) ?? ['', 1];
  return `${unit === '' ? value : (value / size).toFixed(1)} ${unit === 'B' ? 'G' : unit}B`;
}
