import type { UsageReport } from '../../store/reports/usage-report.ts';
import { type UsageScope, usageResponseRow } from '../../store/reports/usage-response.ts';
import { clean } from '../../terminal/text.ts';

/** The rows of a report as RFC 4180 CSV, with the JSON field names as the header. Without the total. */
export function usageCsv({ rows, total }: UsageReport, { groupBy }: UsageScope): string {
  const names = Object.keys(usageResponseRow({ key: '', ...total }, groupBy, { nano: true }));
  const lines = rows.map((row) => {
    const values = usageResponseRow(row, groupBy, { nano: true });
    return names.map((name) => field(values[name] ?? '')).join(',');
  });
  return [names.join(','), ...lines].join('\n');
}

function field(value: string | number): string {
  const text = typeof value === 'number' ? decimal(value) : clean(value);
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Plain decimals: spreadsheets read `1e-9` as text. */
function decimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0{1,9}$/, '');
}
