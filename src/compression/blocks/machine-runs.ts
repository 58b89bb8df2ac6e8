import { readJson } from '../json/read.ts';
import { joinLines } from '../prompt/lines.ts';
import type { Block } from './block.ts';
import { isSample } from './format-examples.ts';

/** Machine output below both limits may be text that the user wants read literally. */
const MIN_RUN_LINES = 8;
const MIN_RUN_LENGTH = 600;
/** A sentence, or an item of a handwritten list. */
const PROSE = /^(?:\d{1,3}[.)] |[-*] )?[A-Z][a-z']+,? [a-z]+,? [a-z]/;
const MAX_ODD_LINES = 3;
const MAX_LAST_LINES = 4;
const MAX_LAST_LENGTH = 400;

/** Splits text outside fences and tags. From a tool all of it is data; from a user only JSON and machine output. */
export function plainBlocks(lines: string[], from: number, end: number, kind: 'words' | 'data'): Block[] {
  if (kind === 'data') return [{ kind, text: joinLines(lines, from, end) }];
  const blocks: Block[] = [];
  const last = end === lines.length ? startOfLastWords(lines, from) : end;
  let wordsFrom = from;
  for (let at = from; at < last; ) {
    const to = endOfJson(lines, at, endOfRun(lines, at, last));
    if (isSample(lines, at)) {
      at = Math.max(to, at + 1);
      continue;
    }
    if (to - at < MIN_RUN_LINES && lengthOf(lines, at, to) < MIN_RUN_LENGTH) {
      at = Math.max(to, at + 1);
      continue;
    }
    if (at > wordsFrom) blocks.push({ kind: 'words', text: joinLines(lines, wordsFrom, at) });
    blocks.push({ kind: 'data', text: joinLines(lines, at, to) });
    at = to;
    wordsFrom = to;
  }
  if (end > wordsFrom) blocks.push({ kind: 'words', text: joinLines(lines, wordsFrom, end) });
  return blocks;
}

/** A short paragraph at the end of a message is probably the question, whatever characters it contains. */
function startOfLastWords(lines: readonly string[], from: number): number {
  let last = lines.length;
  while (last > from && lines[last - 1]?.trim() === '') last--;
  for (let at = last - 1; at > from && last - at <= MAX_LAST_LINES; at--) {
    if (lines[at]?.trim() === '') return lengthOf(lines, at, last) <= MAX_LAST_LENGTH ? at : lines.length;
  }
  return lines.length;
}

/** End of the machine output that starts at `from`. It may contain blank lines and a few lines of other kinds. */
function endOfRun(lines: readonly string[], from: number, end: number): number {
  let last = from - 1;
  for (let at = from; at < end && at - last <= MAX_ODD_LINES; at++) {
    const line = lines[at] ?? '';
    if (isMachineLine(line)) last = at;
    else if (line.trim() !== '' && (at === from || lines[at - 1]?.trim() === '')) break;
  }
  return last + 1;
}

/** JSON ends with its closing bracket. The text after it may be the question, whatever characters it contains. */
function endOfJson(lines: readonly string[], from: number, end: number): number {
  const STARTS = /^\s*[[{]/;
  let at = from;
  if (!STARTS.test(lines[from] ?? '')) return end;
  const text = joinLines(lines, from, end);
  for (let start = 0; at < end && STARTS.test(lines[at] ?? ''); ) {
    const result = readJson(text, start);
    if (!result) return at === from ? end : at;
    const stop = text.indexOf('\n', result.end);
    if (stop < 0) return end;
    at += text.slice(start, stop + 1).split('\n').length - 1;
    start = stop + 1;
  }
  return at;
}

function lengthOf(lines: readonly string[], from: number, end: number): number {
  let length = 0;
  for (let at = from; at < end; at++) length += (lines[at]?.length ?? 0) + 1;
  return length;
}

/** Whether a program wrote this line: indentation, a path, a prompt, or many digits and symbols. */
function isMachineLine(line: string): boolean {
  // A symbol followed by spaces is a gutter, as test runners print it.
  if (/^(?:[ \t]+\S|[A-Z>] {3}|\$ |[-=+|#>]{3}|[[{](?:["\d{[]|\s*$)|[}\]])/.test(line)) return true;
  if (/^[a-z]+ [0-9a-f]{40}\b/.test(line)) return true;
  if (!line.includes(' ')) return line.length > 3 && /[/._:,=]/.test(line);
  if (PROSE.test(line) && (/[.?!:]\s*$/.test(line) || !/\d{2}:\d{2}/.test(line))) return false;
  return /\d/.test(line) && /[/_:=[\]|<>(){}#]/.test(line);
}
