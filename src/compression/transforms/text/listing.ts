import { isDated } from '../../blocks/line-kinds.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import { mentions } from '../../prompt/question.ts';
import type { Scope } from '../scope.ts';

const MIN_LINES = 8;
const WORTH = 0.93;
const MATCHES = '[gw: matches under the name of their file]';
const PATHS = '[gw: each folder, then the names in it]';
const MATCH = /^((?:[A-Za-z]:)?(?=[^\s:]*[A-Za-z])[^\s:]*[/.\\][^\s:]*):(\d+:.*)$/;
const PATH = /^(\S*\/)([^\s/]+\/?)$/;

/** Search results go under their file's name, lists of paths under their folder; both can be read back. */
export function groupListing(text: string, scope: Scope): string {
  // A log's lines may start like a path and a number, and patterns say more of them.
  if (isDated(text)) return text;
  const grouped = regroup(text, MATCH, scope, writeMatches) ?? regroup(text, PATH, scope, writePaths);
  return grouped !== undefined && estimateTokens(grouped) <= estimateTokens(text) * WORTH ? grouped : text;
}

interface Group {
  head: string | undefined;
  lines: string[];
}

/** Groups neighbouring lines by what the pattern's first group holds; others stand alone. */
function regroup(
  text: string,
  pattern: RegExp,
  scope: Scope,
  write: (groups: readonly Group[]) => string | undefined,
): string | undefined {
  const lines = text.split('\n');
  if (lines.length < MIN_LINES) return undefined;
  const groups: Group[] = [];
  let matched = 0;
  for (const line of lines) {
    const found = line.length < 2000 ? pattern.exec(line) : null;
    if (found) matched++;
    // What the question names stays whole, path and all.
    const head = found && !mentions(scope.question, line) ? found[1] : undefined;
    const last = groups.at(-1);
    if (last && last.head === head) last.lines.push(head === undefined ? line : (found?.[2] ?? ''));
    else groups.push({ head, lines: [head === undefined ? line : (found?.[2] ?? '')] });
  }
  return matched * 10 >= lines.length * 7 ? write(groups) : undefined;
}

function writeMatches(groups: readonly Group[]): string | undefined {
  const lines = groups.flatMap((group) =>
    group.head === undefined ? group.lines : [`## ${group.head}`, ...group.lines],
  );
  // A line that looks like one of ours would be misread.
  if (
    groups.some((group) => group.head === undefined && group.lines.some((line) => /^(?:## |\d+:)/.test(line)))
  )
    return undefined;
  return [MATCHES, ...lines].join('\n');
}

function writePaths(groups: readonly Group[]): string | undefined {
  if (groups.some((group) => group.head === undefined && group.lines.some((line) => line.includes('/: '))))
    return undefined;
  const lines = groups.flatMap((group) =>
    group.head === undefined ? group.lines : [`${group.head}: ${group.lines.join(' ')}`],
  );
  return [PATHS, ...lines].join('\n');
}
