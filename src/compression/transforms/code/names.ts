import type { Question } from '../../prompt/question.ts';
import { indentOf, OPENS_BRACE } from './outline.ts';

const WORD = /[A-Za-z_$][\w$]{2,}/g;
const KEYWORDS = new Set(
  'and are for the function functions method methods class def var let const return with from import export default this that what which does why how file files line code error type types public static void async await new fix show explain step test tests'.split(
    ' ',
  ),
);

/** Identifiers of the question: what is quoted, and what no prose has. Without one, nothing tells what matters. */
export function namesIn(question: Question): Set<string> {
  const quoted = [...question.text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => wordsIn(code ?? ''));
  const odd = wordsIn(question.text).filter((word) => /_|[a-z][A-Z]|\$/.test(word));
  const called = [...question.text.matchAll(/([A-Za-z_$][\w$]{2,})\(/g)].map(([, name]) => name ?? '');
  return new Set([...quoted, ...odd, ...called]);
}

/** A line's identifiers but for keywords. */
export function wordsIn(text: string): string[] {
  return (text.match(WORD) ?? []).filter((word) => !KEYWORDS.has(word));
}

const LEADS = /^(?:@|#\[)/;
const MAX_BLOCK = 500;
const CLOSES = /^(?:[})\]]|end\b)/;

/** Which lines belong to what the question names: those that hold a name, and the block that each opens. */
export function findNamed(source: readonly string[], question: Question | undefined): boolean[] {
  const named = source.map(() => false);
  const names = question ? namesIn(question) : new Set<string>();
  if (names.size === 0) return named;
  for (let at = 0, end = 0; at < source.length; at++) {
    // What a block holds, its own blocks hold no more of.
    if (at < end || !wordsIn(source[at] ?? '').some((word) => names.has(word))) continue;
    let from = at;
    while (from > end && LEADS.test((source[from - 1] ?? '').trim())) from--;
    end = endOfBlock(source, at);
    named.fill(true, from, end);
  }
  return named;
}

/** The line after the block that a line opens. */
function endOfBlock(source: readonly string[], head: number): number {
  const indent = indentOf(source[head] ?? '');
  const brace = OPENS_BRACE.test(source[head] ?? '') ? endOfBraces(source, head, indent) : undefined;
  return brace ?? endOfIndented(source, head, indent);
}

/** A closing line as far in as the head; a text in quotes before it may lie further out than both. */
function endOfBraces(source: readonly string[], head: number, indent: number): number | undefined {
  for (let at = head + 1; at < source.length && at < head + MAX_BLOCK; at++) {
    const line = source[at] ?? '';
    if (indentOf(line) === indent && CLOSES.test(line.trim()) && !OPENS_BRACE.test(line)) return at + 1;
  }
  return undefined;
}

/** What is indented deeper, and the lines that close it. */
function endOfIndented(source: readonly string[], head: number, indent: number): number {
  let end = head + 1;
  for (let at = head + 1; at < source.length; at++) {
    const line = source[at] ?? '';
    if (line.trim() === '') continue;
    const depth = indentOf(line);
    if (depth < indent || (depth === indent && !CLOSES.test(line.trim()))) break;
    end = at + 1;
  }
  return end;
}
