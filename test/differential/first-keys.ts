/** A JSON text with the first of doubled keys, as parsers that search for a key find it. Undefined for what is not JSON. */
export function parseFirstKeys(text: string): unknown {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[\w+.-]+|[[\]{},:]/g) ?? [];
  let at = 0;
  const value = (): unknown => {
    const token = tokens[at++] ?? '';
    if (token === '[') return list();
    if (token !== '{') return JSON.parse(token);
    const found = new Map<string, unknown>();
    for (; tokens[at] !== '}'; ) {
      if (tokens[at] === ',') at++;
      const key = JSON.parse(tokens[at] ?? '') as string;
      at += 2;
      const each = value();
      if (!found.has(key)) found.set(key, each);
    }
    at++;
    return Object.fromEntries(found);
  };
  const list = (): unknown[] => {
    const items: unknown[] = [];
    for (; tokens[at] !== ']'; ) {
      if (tokens[at] === ',') at++;
      else items.push(value());
    }
    at++;
    return items;
  };
  return value();
}
