import { isObject } from '../../../json/object.ts';
import type { Signs, ToolCall } from '../../../wire/answer/summary.ts';

/** An answer of which equality means the same and difference means something else: tool calls, JSON, a number, a word. */
type Exact = { kind: 'calls' | 'json' | 'number' | 'word'; value: unknown };

/** What is longer may say the same in other words. */
const MOST_CHARS = 40;
const FENCE = /^```(?:json)?\s*\n([\s\S]*?)\n```$/;
const NUMBER = /^[-+]?[$€£]?\s?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?\s?%?$/;

/** Whether an answer is one that another can be held against. */
export function isComparable(signs: Signs): boolean {
  return exactOf(signs) !== undefined;
}

/** Whether two answers say the same; undefined where that can't be told by looking at them. */
export function agree(a: Signs, b: Signs): boolean | undefined {
  const [one, other] = [exactOf(a), exactOf(b)];
  if (!one || !other || one.kind !== other.kind) return undefined;
  return isSame(one.value, other.value);
}

function exactOf({ refused, cut, calls, text }: Signs): Exact | undefined {
  if (refused || cut) return undefined;
  if (calls.length > 0) return exact('calls', calls.map(callOf));
  const written = text.trim();
  const json = jsonIn(FENCE.exec(written)?.[1] ?? written);
  if (json !== undefined) return exact('json', json);
  const word = plain(written);
  if (word === '' || word.length > MOST_CHARS || /\s/.test(word)) return undefined;
  const number = numberIn(word);
  return number === undefined ? { kind: 'word', value: word } : { kind: 'number', value: number };
}

function exact(kind: Exact['kind'], value: unknown): Exact | undefined {
  return isExact(value) ? { kind, value } : undefined;
}

function callOf({ name, given }: ToolCall): unknown {
  if (typeof given !== 'string') return [name, given];
  // What cannot be read is longer than any value that is compared.
  return [name, given === '' ? {} : (jsonIn(given) ?? '?'.repeat(MOST_CHARS + 1))];
}

/** Without a text in it that could be worded in another way. */
function isExact(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= MOST_CHARS;
  if (Array.isArray(value)) return value.every(isExact);
  return !isObject(value) || Object.values(value).every(isExact);
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') return plain(a) === plain(b);
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((each, i) => isSame(each, b[i]));
  if (!isObject(a)) return a === b;
  if (!isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

/** Without case, and what is put around a word: quotes, emphasis, a full stop. */
function plain(text: string): string {
  return text
    .trim()
    .replaceAll(/^["'`*_(]+|["'`*_).!]+$/g, '')
    .replaceAll(/\s+/g, ' ')
    .toLowerCase();
}

function numberIn(word: string): number | undefined {
  if (!NUMBER.test(word) || !/\d/.test(word)) return undefined;
  return Number(word.replaceAll(/[^\d.+-]/g, ''));
}

/** An object or a list; a bare number or word is no JSON here. */
function jsonIn(text: string): unknown {
  if (!/^[[{]/.test(text.trimStart())) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
