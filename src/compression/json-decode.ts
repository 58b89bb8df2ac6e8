import { type Json, JsonArray, JsonObject, readJson } from './json-read.ts';

interface Field {
  key: string;
  constant?: string;
  prefix?: string;
  type?: string;
  derived?: { before: string; source: string | undefined; after: string };
}

interface Head {
  shapes: Map<string, Field[]>;
  prefixes: Map<string, string>;
}

/** Reads back what `encodeRecords` wrote; throws on text that it did not write. */
export function decodeRecords(text: string): Json {
  const head: Head = { shapes: new Map(), prefixes: new Map() };
  const lines = text.split('\n');
  let at = 1;
  for (; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const prefix = /^~(\d)="(.*)"$/.exec(line);
    const shape = /^#(\d+)\((.*)\)$/.exec(line);
    if (prefix) head.prefixes.set(prefix[1] ?? '', prefix[2] ?? '');
    else if (shape && at < lines.length - 1) head.shapes.set(shape[1] ?? '', readFields(shape[2] ?? ''));
    else break;
  }
  return new BodyReader(lines.slice(at).join('\n'), head).value();
}

const DERIVED =
  /^(?:("(?:[^"\\]|\\.)*")|([^",#=[{]+))=(?:"([^"]*)"\+)?(?:<(key)>|([A-Za-z_][\w-]*))(?:\+"([^"]*)")?(?:,|$)/;
const WORDS = new Set(['true', 'false', 'null']);
const FIELD =
  /(?:("(?:[^"\\]|\\.)*")|([^",#=[{]+))(?:=("(?:[^"\\]|\\.)*"|[^",]+)(\+?)|([#[{][^,]*))?(?:,|$)/y;

function makeDerived(
  derived: NonNullable<Field['derived']>,
  record: JsonObject,
  key: string | undefined,
): string {
  const { before, source, after } = derived;
  const from = source === undefined ? key : record.values[record.keys.indexOf(source)];
  if (typeof from !== 'string') throw new Error(`nothing to make a value of: ${source ?? 'key'}`);
  return `"${before}${from.replace(/^"|"$/g, '')}${after}"`;
}

function readFields(text: string): Field[] {
  const fields: Field[] = [];
  FIELD.lastIndex = 0;
  for (;;) {
    const at = FIELD.lastIndex;
    const made = DERIVED.exec(text.slice(at));
    if (made && !WORDS.has(made[5] ?? '')) {
      const source = made[5] === undefined ? undefined : `"${made[5]}"`;
      const derived = { before: made[3] ?? '', source, after: made[6] ?? '' };
      fields.push({ key: made[1] ?? `"${made[2]}"`, derived });
      FIELD.lastIndex = at + made[0].length;
      if (FIELD.lastIndex === text.length) break;
      continue;
    }
    const found = FIELD.exec(text);
    if (!found || found[0] === '') break;
    const [, quoted, bare, value, plus, type] = found;
    const field: Field = { key: quoted ?? `"${bare}"` };
    if (value !== undefined && plus === '+') field.prefix = value.slice(1, -1);
    else if (value !== undefined) field.constant = value;
    if (type !== undefined) field.type = type.replace(/[^\d]/g, '');
    fields.push(field);
    if (FIELD.lastIndex === text.length) break;
  }
  return fields;
}

class BodyReader {
  #at = 0;
  readonly #text: string;
  readonly #head: Head;

  constructor(text: string, head: Head) {
    this.#text = text;
    this.#head = head;
  }

  /** A value; `shape` is the one that the head gives for its place. */
  value(shape?: string, key?: string): Json {
    let own = shape;
    if (this.#peek() === '#') {
      own = /\d+/y.exec(this.#text.slice(this.#at + 1))?.[0] ?? '';
      this.#at += 1 + own.length;
    }
    switch (this.#peek()) {
      case '(':
        return this.#record(own ?? '', key);
      case '[': {
        const list = new JsonArray();
        this.#each(']', () => list.items.push(this.value(own)));
        return list;
      }
      case '{': {
        const map = new JsonObject();
        this.#each('}', () => {
          const name = this.#primitive();
          map.keys.push(name);
          this.#at++;
          map.values.push(this.value(own, name));
        });
        return map;
      }
      default:
        return this.#expand(this.#primitive());
    }
  }

  #record(shape: string, key: string | undefined): JsonObject {
    const record = new JsonObject();
    const fields = this.#head.shapes.get(shape);
    if (!fields) throw new Error(`no shape #${shape}`);
    this.#at++;
    let first = true;
    for (const field of fields) {
      if (field.constant !== undefined) {
        record.keys.push(field.key);
        record.values.push(this.#expand(field.constant));
        continue;
      }
      if (field.derived) {
        record.keys.push(field.key);
        record.values.push(makeDerived(field.derived, record, key));
        continue;
      }
      if (!first) this.#at++;
      first = false;
      if (/[,)]/.test(this.#text[this.#at] ?? '')) continue;
      record.keys.push(field.key);
      const { prefix } = field;
      if (prefix === undefined) record.values.push(this.value(field.type));
      else record.values.push(`"${prefix}${this.#primitive().slice(1)}`);
    }
    this.#at++;
    return record;
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
    const found = /^"~(\d)/.exec(value);
    const prefix = found && this.#head.prefixes.get(found[1] ?? '');
    return typeof prefix === 'string' ? `"${prefix}${value.slice(3)}` : value;
  }
}
