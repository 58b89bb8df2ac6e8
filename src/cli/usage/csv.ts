import type { UsageView } from '../../reading/schemas.ts';
import { clean } from '../../terminal/text.ts';
import { keysOf } from './rows.ts';

/** The rows of a report as RFC 4180 CSV, with the JSON field names as the header. Without the total. */
export function usageCsv({ data, total, group_by }: UsageView): string {
  const keys = keysOf(group_by);
  const figures = Object.keys(total) as (keyof UsageView['total'])[];
  const lines = data.map((row) =>
    [...keys.map((key) => row[key] ?? ''), ...figures.map((name) => row[name])].map(field).join(','),
  );
  return [[...keys, ...figures].join(','), ...lines].join('\n');
}

function field(value: string | number): string {
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
