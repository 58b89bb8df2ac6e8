import type { Question } from '../../prompt/question.ts';
import { indentOf, OPENS_BRACE } from './outline.ts';

const WORD = /[A-Za-z_$][\w$]{2,}/g;
const KEYWORDS = new Set(
  'and are for the function functions method methods class def var let const return with from import export default this that what which does why how file files line code error type types public static void async await new fix show explain step test tests'.split(
    ' ',
  ),
);

/** The identifiers in a question: quoted words, and words unlike prose. */
export function namesIn(question: Question): Set<string> {
  const quoted = [...question.text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => wordsIn(code ?? ''));
  const odd = wordsIn(question.text).filter((word) => /_|[a-z][A-Z]|\$/.test(word));
  const called = [...question.text.matchAll(/(?<![\w$])([A-Za-z_$][\w$]{2,})\(/g)].map(
    ([, name]) => name ?? '',
  );
  return new Set([...quoted, ...odd, ...called]);
}

/** The identifiers in a text, without keywords. */
export function wordsIn(text: string): string[] {
  return (text.match(WORD) ?? []).filter((word) => !KEYWORDS.has(word));
}

const LEADS = /^(?:@|#\[)/;
const MAX_BLOCK = 500;
const CLOSES = /^(?:[})\]]|end\b)/;

/** Marks the lines that contain a name of the question, and the blocks that they open. */
export function findNamed(source: readonly string[], question: Question | undefined): boolean[] {
  const isNamed = source.map(() => false);
  const names = question ? namesIn(question) : new Set<string>();
  if (names.size === 0) return isNamed;
  for (let at = 0, end = 0; at < source.length; at++) {
    // Nested blocks are already included.
    if (at < end || !wordsIn(source[at] ?? '').some((word) => names.has(word))) continue;
    let from = at;
    while (from > end && LEADS.test((source[from - 1] ?? '').trim())) from--;
    end = endOfBlock(source, at);
    isNamed.fill(true, from, end);
  }
  return isNamed;
}

/** The line after the block that a line opens. */
function endOfBlock(source: readonly string[], head: number): number {
  const indent = indentOf(source[head] ?? '');
  const brace = OPENS_BRACE.test(source[head] ?? '') ? endOfBraces(source, head, indent) : undefined;
  return brace ?? endOfIndented(source, head, indent);
}

/** Finds the closing line with the same indentation as the head. A string literal between may be indented less. */
function endOfBraces(source: readonly string[], head: number, indent: number): number | undefined {
  for (let at = head + 1; at < source.length && at < head + MAX_BLOCK; at++) {
    const line = source[at] ?? '';
    if (indentOf(line) === indent && CLOSES.test(line.trim()) && !OPENS_BRACE.test(line)) return at + 1;
  }
  return undefined;
}

/** Finds the end of the deeper indented lines and their closing lines. */
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
