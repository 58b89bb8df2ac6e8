import { encodeRecords } from '../../json/encode.ts';
import { JsonArray, writeJson } from '../../json/read.ts';
import { findJson, type JsonSpan } from '../../json/spans.ts';
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
