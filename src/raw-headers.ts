/** HTTP headers as node and undici have them: names and values in turn. Order and repeated names are kept. */
export type RawHeaders = readonly string[];

/** The first value of a name in lower case; the names must be in lower case. */
export function headerOf(headers: RawHeaders, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}

/** The headers but for those of the names. */
export function withoutHeaders(headers: RawHeaders, names: ReadonlySet<string>): string[] {
  return headers.filter((_, i) => !names.has(headers[i - (i % 2)] ?? ''));
}

/** The first value of each name. The object has no prototype, as names come from other machines. */
export function headersByName(headers: RawHeaders): Record<string, string> {
  const byName: Record<string, string> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) byName[headers[i] ?? ''] ??= headers[i + 1] ?? '';
  return byName;
}
