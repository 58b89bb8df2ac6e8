/** A JSON value with every member that it has, however often its name stands there. */
export type Loose = string | number | boolean | null | Loose[] | LooseObject;
export interface LooseObject {
  entries: [key: string, value: Loose][];
}

export const isLooseObject = (value: Loose | undefined): value is LooseObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const SPACE = /[\s\0\ufeff]/;

/**
 * Every JSON value that a text has, one behind the other: marks of byte order and zeros are left out, commas may be missing
 * or too many, strings may have control characters and single quotes. Stops at what can't be read.
 */
export function readLoosely(text: string): Loose[] {
  const values: Loose[] = [];
  let at = 0;

  function skip(also = ''): void {
    while (at < text.length && (SPACE.test(text[at] as string) || also.includes(text[at] as string))) at++;
  }

  function readString(quote: string): string {
    let value = '';
    for (at++; at < text.length && text[at] !== quote; at++) {
      if (text[at] !== '\\') {
        value += text[at];
        continue;
      }
      const letter = text[++at] ?? '';
      const hex = letter === 'u' ? /^[\da-f]{4}/i.exec(text.slice(at + 1, at + 5))?.[0] : undefined;
      value += hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[letter] ?? letter);
      if (hex) at += 4;
    }
    at++;
    return value;
  }

  function readValue(depth: number): Loose | undefined {
    skip();
    const first = text[at];
    if (first === undefined || depth > 200) return undefined;
    if (first === '"' || first === "'") return readString(first);
    if (first === '[') return readArray(depth);
    if (first === '{') return readObject(depth);
    const word = /^[-+\w.]+/.exec(text.slice(at, at + 64))?.[0];
    if (word === undefined) return undefined;
    at += word.length;
    return WORDS.get(word) ?? (Number.isNaN(Number(word)) ? word : Number(word));
  }

  function readArray(depth: number): Loose[] {
    const items: Loose[] = [];
    at++;
    for (;;) {
      skip(',');
      if (at >= text.length || text[at] === ']' || text[at] === '}') break;
      const item = readValue(depth + 1);
      if (item === undefined) break;
      items.push(item);
    }
    at++;
    return items;
  }

  function readObject(depth: number): LooseObject {
    const entries: LooseObject['entries'] = [];
    at++;
    for (;;) {
      skip(',');
      if (at >= text.length || text[at] === '}') break;
      const key = readValue(depth + 1);
      skip(':');
      const value = key === undefined ? undefined : readValue(depth + 1);
      if (value === undefined) break;
      entries.push([String(key), value]);
    }
    at++;
    return { entries };
  }

  for (skip(); at < text.length; skip()) {
    const before = at;
    const value = readValue(0);
    if (value === undefined || at === before) break;
    values.push(value);
  }
  return values;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', u: '' };
const WORDS = new Map<string, Loose>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
