import { encodeRecords } from '../../json/encode.ts';
import { type Json, JsonArray, type JsonRead, readJsonOrReach, writeJson } from '../../json/read.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import type { Scope } from '../scope.ts';
import { selectJson } from './select-json.ts';

/** Records must take at most this share of the tokens of minified JSON to be worth their legend. */
const WORTH = 0.95;

/** Writes JSON values as records, or minified if that is as short. Lossless but for what `balanced` leaves out. */
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

function encodeSpan(span: JsonSpan, scope: Scope): string {
  const { value, omissions } =
    scope.level === 'balanced'
      ? selectJson(span.value, scope.question)
      : { value: span.value, omissions: [] };
  const plain = span.lines && value instanceof JsonArray ? value.items : [value];
  const minified = plain.map(writeJson).join('\n');
  const records = encodeRecords(value, { lines: span.lines, keepKey: scope.keepKey });
  const shorter = estimateTokens(records) <= estimateTokens(minified) * WORTH ? records : minified;
  if (omissions.length === 0) return shorter;
  scope.leaveOut();
  return `[gw: left out, as the question doesn't name them: ${summarize(omissions)}]\n${shorter}`;
}

/** Summarizes omissions, such as `48 of 50 rows, 46 links (3 times)`. */
function summarize(omissions: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const what of omissions) counts.set(what, (counts.get(what) ?? 0) + 1);
  const parts = [...counts].map(([what, times]) => (times === 1 ? what : `${what} (${times} times)`));
  return parts.length <= 4 ? parts.join(', ') : `${parts.slice(0, 4).join(', ')} and more`;
}

const SCHEMA = /"(?:parameters|input_schema|inputSchema|properties|function)"\s*:/;

/** Minifies the tool schemas in a system message. */
export function minifySchemas(text: string): string {
  if (!SCHEMA.test(text)) return text;
  let out = '';
  let from = 0;
  for (const span of findJson(text)) {
    const source = text.slice(span.start, span.end);
    if (span.lines || !SCHEMA.test(source)) continue;
    out += text.slice(from, span.start) + writeJson(span.value);
    from = span.end;
  }
  return out + text.slice(from);
}

/** A JSON value in a text. */
interface JsonSpan {
  start: number;
  end: number;
  value: Json;
  /** JSON lines: values one a line, read as a list. */
  lines: boolean;
}

/** Shorter JSON may well be a sample of the wanted format. */
const MIN_LENGTH = 200;

/** Finds JSON values on lines of their own, `MIN_LENGTH` characters or longer. JSON lines count as one value. */
function findJson(text: string): JsonSpan[] {
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
