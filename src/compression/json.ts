import { estimateTokens } from './estimate.ts';
import { encodeRecords } from './json-encode.ts';
import { type Json, JsonArray, type JsonRead, readJsonOrReach, writeJson } from './json-read.ts';
import type { Scope } from './scope.ts';

/** Shorter JSON is as likely a sample of the wanted format as it is data. */
const MIN_LENGTH = 200;
/** Records must beat JSON without its white space by this much to be worth their legend. */
const WORTH = 0.92;

interface Span {
  start: number;
  end: number;
  value: Json;
  lines: boolean;
}

/** JSON values in data become records: each key once, each row by place. Exact; see `decodeRecords`. */
export function compressJson(text: string, scope: Scope): string {
  if (scope.question?.wantsJson) return text;
  let out = '';
  let from = 0;
  for (const span of findJson(text)) {
    out += text.slice(from, span.start) + encodeSpan(span, scope);
    from = span.end;
  }
  return from === 0 ? text : out + text.slice(from);
}

function encodeSpan(span: Span, scope: Scope): string {
  const plain = span.lines && span.value instanceof JsonArray ? span.value.items : [span.value];
  const minified = plain.map(writeJson).join('\n');
  const records = encodeRecords(span.value, { lines: span.lines, keepKey: scope.keepKey });
  return estimateTokens(records) <= estimateTokens(minified) * WORTH ? records : minified;
}

/** JSON values that start and end at line ends, with at least `MIN_LENGTH` characters; lines of values count as one. */
function findJson(text: string): Span[] {
  const spans: Span[] = [];
  // A failed read reaches as far as the text is JSON; this much in vain is enough.
  let patience = text.length;
  for (let at = nextStart(text, 0); at >= 0 && patience > 0; ) {
    const read = readJsonOrReach(text, at);
    const end = typeof read === 'number' ? at : endOfLine(text, read.end);
    if (typeof read === 'number' || end < 0) {
      patience -= (typeof read === 'number' ? read : read.end) - at;
      at = nextStart(text, at + 1);
      continue;
    }
    add(spans, { start: at, end: read.end, read }, text);
    at = nextStart(text, end);
  }
  return spans.filter((span) => span.end - span.start >= MIN_LENGTH);
}

function add(spans: Span[], found: { start: number; end: number; read: JsonRead }, text: string): void {
  const { start, end, read } = found;
  const last = spans.at(-1);
  const inLine = !text.slice(start, end).includes('\n');
  if (last && inLine && text.slice(last.end, start) === '\n' && typeof read.value !== 'string') {
    if (last.lines && last.value instanceof JsonArray) {
      last.value.items.push(read.value);
      last.end = end;
      return;
    }
    if (!text.slice(last.start, last.end).includes('\n')) {
      const list = new JsonArray();
      list.items.push(last.value, read.value);
      spans[spans.length - 1] = { start: last.start, end, value: list, lines: true };
      return;
    }
  }
  spans.push({ start, end, value: read.value, lines: false });
}

function nextStart(text: string, from: number): number {
  const START = /^[ \t]*[[{]/gm;
  START.lastIndex = from;
  const found = START.exec(text);
  return found ? found.index + found[0].length - 1 : -1;
}

/** The end of the line if nothing but blanks follows `at` on it, else -1. */
function endOfLine(text: string, at: number): number {
  let end = at;
  while (text[end] === ' ' || text[end] === '\t' || text[end] === '\r') end++;
  return end === text.length || text[end] === '\n' ? end : -1;
}
