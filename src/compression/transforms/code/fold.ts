import { isTask, type Question } from '../../prompt/question.ts';
import { NUMBER as NUMBERED } from '../../repeats/history.ts';

export interface SourceFile {
  path?: string | undefined;
  language?: string | undefined;
  /** A tool read the file, so the next call may edit it. */
  mayBeEdited?: boolean;
  fenced?: boolean;
}

const MIN_LINES = 60;
const MIN_COMMENT = 3;
const EXTENSIONS = new Set(
  'js mjs cjs jsx ts mts cts tsx py pyi go rs java kt kts c h cc cpp cxx hpp cs swift php scala dart rb'.split(
    ' ',
  ),
);
const LANGUAGES = new Set(
  'javascript typescript python golang rust java kotlin c cpp c++ csharp swift php scala dart'.split(' '),
);
const WHOLE =
  /\b(?:complete|entire|whole|full|every|all)\b[^.?!\n]{0,30}\b(?:files?|modules?|code|classes|functions|methods)\b|\b(?:review|summar(?:y|ise|ize)|overview|document|audit|translate|port|architecture)\b/i;
/** The code is to be shown in the answer, not edited in the file. */
const SHOWN =
  /\b(?:show|return|print|give|write out|reply with)\b[^.?!\n]{0,40}\b(?:functions?|methods?|class|code|version|implementation|snippet)\b/i;
const COMMENT = /^\s*(?:\/\*|\*|\/\/|#(?!include|define|if|endif|\[)|"""|''')/;

/**
 * Folds the bodies of definitions that are irrelevant to the question. Only for known languages and questions that
 * name something in the code; a file that is about to be edited stays whole.
 */
export function foldCode(text: string, file: SourceFile, question: Question | undefined): string {
  if (!question || !isKnown(file) || WHOLE.test(question.text)) return text;
  const lines = text.split('\n');
  if (lines.length < MIN_LINES) return text;
  const source = lines.map((line) => line.replace(NUMBERED, ''));
  const bodies = findBodies(source);
  const names = namesIn(question);
  if (names.size === 0) return text;
  const heads = bodies.map((body) => wordsIn(source[body.head] ?? ''));
  const targets = bodies.filter((_, i) => heads[i]?.some((word) => names.has(word)));
  if (
    file.mayBeEdited &&
    isTask(question) &&
    !SHOWN.test(question.text) &&
    (targets.length > 0 || isNamedFile(file, question))
  )
    return text;
  const called = new Set(targets.flatMap((body) => wordsIn(source.slice(body.from, body.end).join('\n'))));
  const cited = citedLines(question);
  const folded = bodies.filter((body, i) => {
    if (
      targets.includes(body) ||
      heads[i]?.some((word) => called.has(word) && isDefined(word, source[body.head] ?? ''))
    )
      return false;
    return !cited.some((line) => line > body.head && line <= body.end + 1 && isNamedFile(file, question));
  });
  if (folded.length === 0) return text;
  const unfolded = bodies.filter((body) => !folded.includes(body));
  return writeFolded(lines, source, [...folded, ...commentsOf(source, unfolded)]);
}

interface Range {
  from: number;
  end: number;
}

function writeFolded(lines: readonly string[], source: readonly string[], ranges: readonly Range[]): string {
  const out: string[] = [];
  let at = 0;
  let mark = ' [gw: what the question does not touch is folded, here and below]';
  for (const { from, end } of [...ranges].sort((a, b) => a.from - b.from || b.end - a.end)) {
    if (from < at) continue;
    out.push(...lines.slice(at, from), `${/^\s*/.exec(source[from] ?? '')?.[0]}… ${end - from} lines${mark}`);
    mark = '';
    at = end;
  }
  return [...out, ...lines.slice(at)].join('\n');
}

/** Long comments, except those above a definition that stays. */
function commentsOf(source: readonly string[], kept: readonly Body[]): Range[] {
  const heads = new Set(kept.map((body) => body.head));
  const comments: Range[] = [];
  for (let from = 0; from < source.length; from++) {
    let end = from;
    while (end < source.length && COMMENT.test(source[end] ?? '')) end++;
    if (end - from >= MIN_COMMENT && !heads.has(end) && !heads.has(end + 1) && !heads.has(end + 2))
      comments.push({ from, end });
    from = Math.max(from, end - 1);
  }
  return comments;
}

function isKnown({ path, language }: SourceFile): boolean {
  const extension = /\.(\w+)$/.exec(path ?? '')?.[1]?.toLowerCase() ?? '';
  return EXTENSIONS.has(extension) || LANGUAGES.has(language ?? '') || EXTENSIONS.has(language ?? '');
}

function isNamedFile({ path }: SourceFile, question: Question): boolean {
  const base = path?.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return base !== undefined && base !== '' && question.text.toLowerCase().includes(base);
}

/** Whether a head line defines this name, rather than uses it as a type or an argument. */
function isDefined(name: string, head: string): boolean {
  const at = head.search(/[(:=<{]/);
  return (at < 0 ? head : head.slice(0, at + 1)).includes(name) || head.includes(`function ${name}`);
}

function citedLines(question: Question): number[] {
  return [...question.text.matchAll(/(?:\blines? |:)(\d{1,6})\b/gi)].map(([, line]) => Number(line));
}

/** Foldable lines: those between the first and last line of a definition. */
interface Body {
  /** The line that opens the definition. */
  head: number;
  /** First line and (exclusive) end of the body. */
  from: number;
  end: number;
}

const MIN_BODY = 4;
/** A line that ends with an opening brace. */
const OPENS_BRACE = /[{([]\s*(?:\/\/|$)/;
const CLOSES_BRACE = /^[})\]]/;
const OPENS_PYTHON = /^(?:async\s+def|def|class)\s/;
/** Blocks that contain definitions rather than statements: searched instead of folded. */
const CONTAINER =
  /^(?:(?:export|default|abstract|public|private|internal|static|pub(?:\([a-z]+\))?|declare|final|sealed|open|data|unsafe)\s+)*(?:class|interface|impl|trait|enum|struct|namespace|module|mod|object|extension|protocol|package)\b|^(?:describe|context|suite)\b|^(?:module\.exports|export default)\b/;

/** Finds the bodies of definitions by indentation, outermost first. */
function findBodies(lines: readonly string[]): Body[] {
  const indents = lines.map(indentOf);
  const bodies: Body[] = [];
  collect(lines, indents, 0, lines.length, bodies);
  return bodies;
}

function collect(
  lines: readonly string[],
  indents: readonly number[],
  from: number,
  end: number,
  bodies: Body[],
): void {
  for (let at = from; at < end; at++) {
    const line = (lines[at] ?? '').trim();
    const isPython = OPENS_PYTHON.test(line);
    if (line === '' || !(isPython || OPENS_BRACE.test(line))) continue;
    const first = isPython ? afterSignature(lines, at, end) : at + 1;
    const last = endOfBody(lines, indents, first, end, indents[at] ?? 0);
    if (last - first < MIN_BODY) continue;
    if (CONTAINER.test(line)) collect(lines, indents, first, last, bodies);
    else bodies.push({ head: at, from: first, end: last });
    at = last - 1;
  }
}

/** The line after a Python signature, which may span several lines. */
function afterSignature(lines: readonly string[], at: number, end: number): number {
  let line = at;
  while (line < end && line < at + 30 && !/:\s*(?:#|$)/.test(lines[line] ?? '')) line++;
  return line + 1;
}

/** A body ends where the indentation falls back; it excludes the blank lines before that. */
function endOfBody(
  lines: readonly string[],
  indents: readonly number[],
  from: number,
  end: number,
  indent: number,
): number {
  let last = from;
  for (let at = from; at < end; at++) {
    if ((lines[at] ?? '').trim() === '') continue;
    if ((indents[at] ?? 0) <= indent && !isContinuation(lines[at] ?? '', indents[at] ?? 0, indent)) break;
    last = at + 1;
  }
  return last;
}

/** `} else {` at the depth of the head continues its block. */
function isContinuation(line: string, indent: number, head: number): boolean {
  return indent === head && CLOSES_BRACE.test(line.trim()) && OPENS_BRACE.test(line);
}

/** The width of a line's indentation. */
function indentOf(line: string): number {
  let width = 0;
  for (const sign of line) {
    if (sign === ' ') width++;
    else if (sign === '\t') width += 4;
    else break;
  }
  return width;
}

const WORD = /[A-Za-z_$][\w$]{2,}/g;
const KEYWORDS = new Set(
  'and are for the function functions method methods class def var let const return with from import export default this that what which does why how file files line code error type types public static void async await new fix show explain step test tests'.split(
    ' ',
  ),
);

/** The identifiers in a question: quoted words, and words unlike prose. */
function namesIn(question: Question): Set<string> {
  const quoted = [...question.text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => wordsIn(code ?? ''));
  const odd = wordsIn(question.text).filter((word) => /_|[a-z][A-Z]|\$/.test(word));
  const called = [...question.text.matchAll(/(?<![\w$])([A-Za-z_$][\w$]{2,})\(/g)].map(
    ([, name]) => name ?? '',
  );
  return new Set([...quoted, ...odd, ...called]);
}

/** The identifiers in a text, without keywords. */
const wordsIn = (text: string): string[] => (text.match(WORD) ?? []).filter((word) => !KEYWORDS.has(word));

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
