import { type Json, JsonArray, JsonObject, readJson } from '../../../src/compression/json/read.ts';
import {
  fieldOf,
  listIn,
  type Siblings,
  siblingsIn,
  templateFor,
} from '../../../src/compression/json/template.ts';
import { readBare } from './bare-text.ts';

/** `(value,value,"key":value)`: values by place, and after them fields that what they are read by has not. */
class Values {
  readonly items: Node[] = [];
  readonly keys: string[] = [];
  readonly more: Node[] = [];
}

type Node = string | Values | { list: Node[] } | { keys: string[]; values: Node[] };

/** Reads back what `encodeByTemplate` wrote, and takes the earlier value that it names; throws on any other text. */
export function decodeByTemplate(text: string, template?: Json): Json {
  return resolve(new NodeReader(text, text.indexOf('\n') + 1).node(), template);
}

function resolve(node: Node, template: Json | undefined): Json {
  if (typeof node === 'string') return node;
  if (node instanceof Values) return resolveValues(node, template);
  return resolveWhole(node, template);
}

function resolveWhole(
  node: Exclude<Node, string | Values>,
  template: Json | undefined,
): JsonArray | JsonObject {
  const siblings = siblingsIn(template);
  if ('list' in node) {
    const list = new JsonArray();
    for (const item of node.list) list.items.push(resolveChild(item, listIn(template), siblings));
    return list;
  }
  const object = new JsonObject();
  node.keys.forEach((key, i) => {
    object.keys.push(key);
    object.values.push(resolveChild(node.values[i] ?? 'null', fieldOf(template, key), siblings));
  });
  return object;
}

function resolveChild(node: Node, own: Json | undefined, siblings: Siblings): Json {
  if (node instanceof Values) return resolveValues(node, templateFor(node.items.length, own, siblings));
  if (typeof node === 'string' || 'list' in node) return resolve(node, own);
  const count = node.keys.length;
  const object = resolveWhole(node, templateFor(count, own, siblings));
  if (object instanceof JsonObject) siblings.set(count, object);
  return object;
}

function resolveValues(node: Values, template: Json | undefined): JsonObject {
  if (!(template instanceof JsonObject)) throw new Error('values without keys');
  const object = new JsonObject();
  node.items.forEach((item, i) => {
    object.keys.push(template.keys[i] ?? '');
    object.values.push(resolve(item, template.values[i]));
  });
  object.keys.push(...node.keys);
  for (const value of node.more) object.values.push(resolve(value, undefined));
  return object;
}

const BARE = /[^,)]*/y;
const BARE_ITEM = /[^,)\]}]*/y;
const BARE_KEY = /\w*/y;

class NodeReader {
  #at: number;
  readonly #text: string;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  node(): Node {
    switch (this.#text[this.#at]) {
      case '[': {
        const list: Node[] = [];
        this.#each(']', () => list.push(this.node()));
        return { list };
      }
      case '(':
        return this.#values();
      case '{': {
        const object: { keys: string[]; values: Node[] } = { keys: [], values: [] };
        this.#each('}', () => {
          object.keys.push(this.#isQuoted() ? this.#primitive() : `"${this.#match(BARE_KEY)}"`);
          this.#at++;
          object.values.push(this.node());
        });
        return object;
      }
      default:
        return this.#isQuoted() ? this.#primitive() : readBare(this.#match(BARE_ITEM), false);
    }
  }

  #values(): Values {
    const values = new Values();
    this.#each(')', () => {
      const item = this.#cell();
      if (this.#text[this.#at] !== ':') {
        values.items.push(item);
        return;
      }
      this.#at++;
      values.keys.push(String(item));
      values.more.push(this.node());
    });
    return values;
  }

  /** A value in brackets, where text may stand without its quotes. */
  #cell(): Node {
    if (/["[{(]/.test(this.#text[this.#at] ?? '')) return this.node();
    return readBare(this.#match(BARE), false);
  }

  #isQuoted(): boolean {
    return this.#text[this.#at] === '"';
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    if (found === '') throw new Error(`nothing at ${this.#at}`);
    this.#at += found.length;
    return found;
  }

  #each(close: string, read: () => void): void {
    this.#at++;
    while (this.#text[this.#at] !== close) {
      read();
      if (this.#text[this.#at] === ',') this.#at++;
      else if (this.#text[this.#at] !== close) throw new Error(`unfinished at ${this.#at}`);
    }
    this.#at++;
  }

  #primitive(): string {
    const found = readJson(this.#text, this.#at);
    if (typeof found?.value !== 'string') throw new Error(`no value at ${this.#at}`);
    this.#at = found.end;
    return found.value;
  }
}
