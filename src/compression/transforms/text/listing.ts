import { isDated } from '../../blocks/line-kinds.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import { mentions } from '../../prompt/question.ts';
import type { Scope } from '../scope.ts';

const MIN_LINES = 8;
const WORTH = 0.93;
const MATCHES = '[gw: matches under the name of their file]';
const MATCH = /^((?:[A-Za-z]:)?(?=[^\s:A-Za-z]*[A-Za-z])[^\s:/.\\]*[/.\\][^\s:]*):(\d+:.*)$/;

/** Groups search results by file. Lossless. */
export function groupListing(text: string, scope: Scope): string {
  // Log lines may start like a path and a number; log patterns compress them better.
  if (isDated(text)) return text;
  const grouped = regroup(text, scope);
  return grouped !== undefined && estimateTokens(grouped) <= estimateTokens(text) * WORTH ? grouped : text;
}

interface Group {
  head: string | undefined;
  lines: string[];
}

/** Groups adjacent matches in one file; other lines stay as they are. */
function regroup(text: string, scope: Scope): string | undefined {
  const lines = text.split('\n');
  if (lines.length < MIN_LINES) return undefined;
  const groups: Group[] = [];
  let matched = 0;
  for (const line of lines) {
    const match = line.length < 2000 ? MATCH.exec(line) : null;
    if (match) matched++;
    // Lines that the question names keep their path.
    const head = match && !mentions(scope.question, line) ? match[1] : undefined;
    const last = groups.at(-1);
    if (last && last.head === head) last.lines.push(head === undefined ? line : (match?.[2] ?? ''));
    else groups.push({ head, lines: [head === undefined ? line : (match?.[2] ?? '')] });
  }
  return matched * 10 >= lines.length * 7 ? writeMatches(groups) : undefined;
}

function writeMatches(groups: readonly Group[]): string | undefined {
  const lines = groups.flatMap((group) =>
    group.head === undefined ? group.lines : [`## ${group.head}`, ...group.lines],
  );
  // A line that looks like a heading or a grouped match would be ambiguous.
  if (
    groups.some((group) => group.head === undefined && group.lines.some((line) => /^(?:## |\d+:)/.test(line)))
  )
    return undefined;
  return [MATCHES, ...lines].join('\n');
}
