import { type Json, JsonArray, type JsonRead, readJsonOrReach } from './read.ts';

/** A JSON value in a text. */
export interface JsonSpan {
  start: number;
  end: number;
  value: Json;
  /** JSON lines: values one a line, read as a list. */
  lines: boolean;
}

/** Shorter JSON may well be a sample of the wanted format. */
const MIN_LENGTH = 200;

/** Finds JSON values on lines of their own, `MIN_LENGTH` characters or longer. JSON lines count as one value. */
export function findJson(text: string): JsonSpan[] {
  const spans: JsonSpan[] = [];
  // Bounds the total length of failed reads.
  let patience = text.length;
  for (let at = nextStart(text, 0); at >= 0 && patience > 0; ) {
    const result = readJsonOrReach(text, at);
    const end = typeof result === 'number' ? at : endOfLine(text, result.end);
    if (typeof result === 'number' || end < 0) {
      patience -= (typeof result === 'number' ? result : result.end) - at;
      at = nextStart(text, at + 1);
      continue;
    }
    add(spans, { start: at, end: result.end, read: result }, text);
    at = nextStart(text, end);
  }
  return spans.filter((span) => span.end - span.start >= MIN_LENGTH);
}

function add(spans: JsonSpan[], next: { start: number; end: number; read: JsonRead }, text: string): void {
  const { start, end, read } = next;
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
  const match = START.exec(text);
  return match ? match.index + match[0].length - 1 : -1;
}

/** The end of the line if only white space follows `at`, else -1. */
function endOfLine(text: string, at: number): number {
  let end = at;
  while (text[end] === ' ' || text[end] === '\t' || text[end] === '\r') end++;
  return end === text.length || text[end] === '\n' ? end : -1;
}
