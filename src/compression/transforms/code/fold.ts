import { isTask, type Question } from '../../prompt/question.ts';
import { NUMBER as NUMBERED } from '../../repeats/history.ts';
import { namesIn, wordsIn } from './names.ts';
import { type Body, findBodies } from './outline.ts';

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
