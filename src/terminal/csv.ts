import { clean } from './clean.ts';

/** A cell of CSV (RFC 4180). */
export function csvField(value: string | number): string {
  const text = typeof value === 'number' ? decimal(value) : cell(value);
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Spreadsheets evaluate such text as a formula. https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/;

function cell(value: string): string {
  const text = clean(value);
  return FORMULA.test(value) || FORMULA.test(text) ? `'${text}` : text;
}

/** Plain decimals: spreadsheets read `1e-9` as text. */
function decimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0{1,9}$/, '');
}
