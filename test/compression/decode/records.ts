import { type Json, JsonArray, JsonObject, readJson } from '../../../src/compression/json/read.ts';
import { readBare } from './bare-text.ts';
import { type Field, type RecordsHead, readRecordsHead } from './records-head.ts';

/** Reads back what `encodeRecords` wrote; throws on text that it did not write. */
export function decodeRecords(text: string): Json {
  const { head, body } = readRecordsHead(text);
  return new BodyReader(body, head).value();
}

const CELL = /[^,)\n]*/y;

class BodyReader {
  #at = 0;
  #depth = 0;
  readonly #text: string;
  readonly #head: RecordsHead;

  constructor(text: string, head: RecordsHead) {
    this.#text = text;
    this.#head = head;
  }

  /** A value; `shape` is the one that the head gives for its place. */
  value(shape?: string): Json {
    let own = shape;
    if (this.#peek() === '#') {
      own = /\d+/y.exec(this.#text.slice(this.#at + 1))?.[0] ?? '';
      this.#at += 1 + own.length;
    }
    switch (this.#peek()) {
      case '(':
        return this.#bracketed(own ?? '');
      case '[':
        return this.#list(own);
      case '{': {
        const map = new JsonObject();
        this.#each('}', () => {
          const name = this.#primitive();
          map.keys.push(name);
          this.#at++;
          map.values.push(this.value(own));
        });
        return map;
      }
      default:
        return this.#expand(this.#primitive());
    }
  }

  #list(shape: string | undefined): JsonArray {
    const list = new JsonArray();
    if (shape === undefined || !this.#hasOpenRows(shape)) {
      this.#each(']', () => list.items.push(this.value(shape)));
      return list;
    }
    for (this.#at++; this.#peek() !== ']'; ) {
      if (this.#at >= this.#text.length) throw new Error('unfinished list');
      list.items.push(this.#record(shape));
    }
    this.#at++;
    return list;
  }

  /** Whether records have lines of their own, without brackets: in the outermost lists, where they have some values. */
  #hasOpenRows(shape: string): boolean {
    const written = this.#fields(shape).filter((field) => field.constant === undefined);
    return this.#depth === 0 && written.length > 1 && this.#text[this.#at + 1] === '\n';
  }

  #bracketed(shape: string): JsonObject {
    this.#at++;
    const record = this.#record(shape);
    this.#at++;
    return record;
  }

  #record(shape: string): JsonObject {
    const record = new JsonObject();
    let first = true;
    this.#depth++;
    for (const field of this.#fields(shape)) {
      const isInHead = field.constant !== undefined;
      if (!isInHead && !first) this.#at++;
      if (!isInHead) first = false;
      const value = this.#fieldOf(field);
      if (value === undefined) continue;
      record.keys.push(field.key);
      record.values.push(value);
    }
    this.#depth--;
    return record;
  }

  #fieldOf(field: Field): Json | undefined {
    if (field.constant !== undefined) return field.constant;
    const isEmpty = /[,)\n]/.test(this.#text[this.#at] ?? '\n');
    return isEmpty ? undefined : this.#cell(field);
  }

  #cell(field: Field): Json {
    if (field.type !== undefined) return this.value(field.type);
    const isQuoted = this.#text[this.#at] === '"';
    if (isQuoted || /^(?:[[{(]|#\d)/.test(this.#text.slice(this.#at, this.#at + 2))) return this.value();
    return this.#expand(readBare(this.#bare()));
  }

  /** Text without quotes. */
  #bare(): string {
    CELL.lastIndex = this.#at;
    const bare = CELL.exec(this.#text)?.[0] ?? '';
    this.#at += bare.length;
    return bare;
  }

  #fields(shape: string): readonly Field[] {
    const fields = this.#head.shapes.get(shape);
    if (!fields) throw new Error(`no shape #${shape}`);
    return fields;
  }

  #each(close: string, read: () => void): void {
    this.#at++;
    while (this.#peek() !== close) {
      read();
      if (this.#peek() === ',') this.#at++;
      if (this.#at >= this.#text.length) throw new Error('unfinished list');
    }
    this.#at++;
  }

  #peek(): string {
    while (this.#text[this.#at] === '\n') this.#at++;
    return this.#text[this.#at] ?? '';
  }

  #primitive(): string {
    const found = readJson(this.#text, this.#at);
    if (typeof found?.value !== 'string') throw new Error(`no value at ${this.#at}`);
    this.#at = found.end;
    return found.value;
  }

  #expand(value: string): string {
    const prefix = value[0] === '"' ? this.#head.prefixes.get(value[1] ?? '') : undefined;
    return prefix === undefined ? value : `"${prefix}${value.slice(2)}`;
  }
}
