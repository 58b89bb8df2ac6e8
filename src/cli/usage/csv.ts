import type { UsageReport } from '../../store/reports/usage-report.ts';
import { type UsageScope, usageResponseRow } from '../../store/reports/usage-response.ts';
import { clean } from '../../terminal/text.ts';

/** The rows of the report as RFC 4180 CSV with the names of the JSON fields; no total, which a spreadsheet adds up. */
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

/** Never `1e-9`, which spreadsheets read as text. */
function decimal(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(9).replace(/0+$/, '');
}
