/** Texts that a spreadsheet would run as a formula: https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r]/;

/** Rows as CSV (RFC 4180), with a head. */
export function csvOf(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => names.map((name) => cellOf((row as Record<string, unknown>)[name])));
  return [names, ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

function cellOf(value: unknown): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Has the browser save a file. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}
