/**
 * A JSON value, read without loss. A primitive is its source text (`1.0`, `-0`, `"\u00e9"`), because `JSON.parse`
 * would normalize it.
 */
export type Json = string | JsonArray | JsonObject;

export class JsonArray {
  readonly items: Json[] = [];
}

export class JsonObject {
  /** Keys as written, quotes included. */
  readonly keys: string[] = [];
  readonly values: Json[] = [];
}

export interface JsonRead {
  value: Json;
  end: number;
}

const MAX_DEPTH = 60;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: not allowed in JSON strings
const PLAIN_STRING = /"[^"\\\u0000-\u001f]*"/y;
const WORDS = ['true', 'false', 'null'];

/** Reads the JSON value at `start`; undefined if it is not JSON, too deeply nested, or has duplicate keys. */
export function readJson(text: string, start = 0): JsonRead | undefined {
  const reader = new Reader(text, start);
  const value = reader.value(0);
  return value === undefined ? undefined : { value, end: reader.at };
}

/** Reads a text that is a single JSON value; undefined if it is anything else. */
export function readWhole(text: string): Json | undefined {
  const result = readJson(text);
  return result && text.slice(result.end).trim() === '' ? result.value : undefined;
}

/** Like `readJson`, but a failed read returns where it failed, so that a caller can bound its retries. */
export function readJsonOrReach(text: string, start: number): JsonRead | number {
  const reader = new Reader(text, start);
  const value = reader.value(0);
  return value === undefined ? reader.at : { value, end: reader.at };
}

class Reader {
  at: number;
  readonly #text: string;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  value(depth: number): Json | undefined {
    if (depth > MAX_DEPTH) return undefined;
    this.skipBlanks();
    switch (this.#text.charCodeAt(this.at)) {
      case 0x7b:
        return this.object(depth);
      case 0x5b:
        return this.array(depth);
      case 0x22:
        return this.string();
      default:
        return this.word() ?? this.match(NUMBER);
    }
  }

  object(depth: number): JsonObject | undefined {
    const object = new JsonObject();
    const seen = new Set<string>();
    this.at++;
    if (this.take(0x7d)) return object;
    for (;;) {
      this.skipBlanks();
      const key = this.string();
      if (key === undefined || !this.take(0x3a)) return undefined;
      const name = key.includes('\\') ? String(JSON.parse(key)) : key.slice(1, -1);
      if (seen.has(name)) return undefined;
      seen.add(name);
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      object.keys.push(key);
      object.values.push(value);
      if (this.take(0x2c)) continue;
      return this.take(0x7d) ? object : undefined;
    }
  }

  array(depth: number): JsonArray | undefined {
    const array = new JsonArray();
    this.at++;
    if (this.take(0x5d)) return array;
    for (;;) {
      const value = this.value(depth + 1);
      if (value === undefined) return undefined;
      array.items.push(value);
      if (this.take(0x2c)) continue;
      return this.take(0x5d) ? array : undefined;
    }
  }

  word(): string | undefined {
    const match = WORDS.find((word) => this.#text.startsWith(word, this.at));
    if (match !== undefined) this.at += match.length;
    return match;
  }

  string(): string | undefined {
    const start = this.at;
    if (this.#text.charCodeAt(start) !== 0x22) return undefined;
    // Fast path: a regular expression finds the end of strings without escapes.
    PLAIN_STRING.lastIndex = start;
    if (PLAIN_STRING.test(this.#text)) {
      this.at = PLAIN_STRING.lastIndex;
      return this.#text.slice(start, this.at);
    }
    for (this.at++; this.at < this.#text.length; ) {
      const code = this.#text.charCodeAt(this.at);
      if (code === 0x22) return this.#text.slice(start, ++this.at);
      if (code < 0x20) return undefined;
      if (code === 0x5c) {
        if (this.match(ESCAPE) === undefined) return undefined;
      } else this.at++;
    }
    return undefined;
  }

  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text)?.[0];
    if (match !== undefined) this.at += match.length;
    return match;
  }

  take(code: number): boolean {
    this.skipBlanks();
    if (this.#text.charCodeAt(this.at) !== code) return false;
    this.at++;
    return true;
  }

  skipBlanks(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at++;
    }
  }
}

/** Writes a value as minified JSON, every primitive as it was written. */
export function writeJson(value: Json): string {
  if (typeof value === 'string') return value;
  if (value instanceof JsonArray) return `[${value.items.map(writeJson).join(',')}]`;
  return `{${value.keys.map((key, i) => `${key}:${writeJson(value.values[i] ?? 'null')}`).join(',')}}`;
}
