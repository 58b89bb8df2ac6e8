/** Foldable lines: those between the first and last line of a definition. */
export interface Body {
  /** The line that opens the definition. */
  head: number;
  /** First line and (exclusive) end of the body. */
  from: number;
  end: number;
}

const MIN_BODY = 4;
/** A line that ends with an opening brace. */
export const OPENS_BRACE = /[{([]\s*(?:\/\/|$)/;
const CLOSES_BRACE = /^[})\]]/;
const OPENS_PYTHON = /^(?:async\s+def|def|class)\s/;
/** Blocks that contain definitions rather than statements: searched instead of folded. */
const CONTAINER =
  /^(?:(?:export|default|abstract|public|private|internal|static|pub(?:\([a-z]+\))?|declare|final|sealed|open|data|unsafe)\s+)*(?:class|interface|impl|trait|enum|struct|namespace|module|mod|object|extension|protocol|package)\b|^(?:describe|context|suite)\b|^(?:module\.exports|export default)\b/;

/** Finds the bodies of definitions by indentation, outermost first. */
export function findBodies(lines: readonly string[]): Body[] {
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
export function indentOf(line: string): number {
  let width = 0;
  for (const sign of line) {
    if (sign === ' ') width++;
    else if (sign === '\t') width += 4;
    else break;
  }
  return width;
}
