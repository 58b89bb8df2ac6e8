/** HTTP headers as in node and undici: alternating names and values. Order and repeated names are kept. */
export type RawHeaders = readonly string[];

/** The first value of a header. Both `name` and the headers' names must be in lower case. */
export function headerOf(headers: RawHeaders, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}

/** The headers without those in `names`. */
export function withoutHeaders(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  return headers.filter((_, i) => !names.has(headers[i - (i % 2)] ?? ''));
}

/** The first value of each name. The object has no prototype, because names come from other machines. */
export function headersByName(headers: RawHeaders): Record<string, string> {
  const byName: Record<string, string> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) byName[headers[i] ?? ''] ??= headers[i + 1] ?? '';
  return byName;
}
