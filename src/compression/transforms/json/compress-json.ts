import { encodeRecords } from '../../json/encode.ts';
import { JsonArray, writeJson } from '../../json/read.ts';
import { findJson, type JsonSpan } from '../../json/spans.ts';
import { encodeByTemplate } from '../../json/template.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import type { Scope } from '../scope.ts';
import { selectJson } from './select-json.ts';

/** Other forms must take at most this share of the tokens of minified JSON to be worth their legend. */
const WORTH = 0.95;
/** For tool results a template needs no margin: text without quotes takes 5 % fewer tokens than estimated. */
const RESULT_WORTH = 1;

/** Writes JSON values as records or by template, whichever is shorter. Lossless. */
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
  const template = omissions.length === 0 && !span.lines ? scope.templateOf(value) : undefined;
  const forms = [{ text: records, worth: WORTH }];
  if (!span.lines)
    forms.push({ text: encodeByTemplate(value, template), worth: scope.fromTool ? RESULT_WORTH : WORTH });
  const shorter = shortest(minified, forms);
  if (omissions.length === 0) return shorter;
  scope.leaveOut();
  return `[gw: left out, as the question doesn't name them: ${summarize(omissions)}]\n${shorter}`;
}

interface Form {
  text: string;
  /** The share of the minified form's tokens that it may take. */
  worth: number;
}

/** The shortest form that is worth its legend, or the minified one. */
function shortest(plain: string, forms: readonly Form[]): string {
  const most = estimateTokens(plain);
  let least = Number.POSITIVE_INFINITY;
  let best = plain;
  for (const { text, worth } of forms) {
    const tokens = estimateTokens(text);
    if (tokens > most * worth || tokens > least) continue;
    least = tokens;
    best = text;
  }
  return best;
}

/** Summarizes omissions, such as `48 of 50 rows, 46 links (3 times)`. */
function summarize(omissions: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const what of omissions) counts.set(what, (counts.get(what) ?? 0) + 1);
  const parts = [...counts].map(([what, times]) => (times === 1 ? what : `${what} (${times} times)`));
  return parts.length <= 4 ? parts.join(', ') : `${parts.slice(0, 4).join(', ')} and more`;
}
