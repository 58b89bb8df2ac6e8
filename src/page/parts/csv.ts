import { csvField } from '../../terminal/csv.ts';

/** Rows as CSV (RFC 4180), with a head. */
export function csvOf(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) =>
    names.map((name) => csvField((row as Record<string, string | number | null | undefined>)[name] ?? '')),
  );
  return [names, ...lines].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** Has the browser save a file. */
export function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  URL.revokeObjectURL(url);
}
