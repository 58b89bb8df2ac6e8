import { grouped } from '../../json/grouped.ts';
import { readJson } from '../json/read.ts';
import { isDated } from './line-kinds.ts';

/**
 * A part of a text. `words` are the author's own and stay as they are; `data` is pasted or returned by a tool;
 * `code` is source, with its language and path if stated.
 */
export interface Block {
  kind: 'words' | 'data' | 'code';
  text: string;
  language?: string;
  path?: string;
  fenced?: boolean;
}

/** Splits a text into blocks. Concatenated, the blocks are the text again. */
export function splitBlocks(text: string, plainIs: 'words' | 'data'): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let plainFrom = 0;
  let at = 0;
  const close = closers(lines);
  const flushPlain = (end: number) => {
    if (end > plainFrom) blocks.push(...plainBlocks(lines, plainFrom, end, plainIs));
  };
  while (at < lines.length) {
    const opener = openerAt(lines, at, close);
    if (!opener) {
      at++;
      continue;
    }
    flushPlain(at + 1);
    if (opener.end > at + 1) blocks.push(opener.block(joinLines(lines, at + 1, opener.end)));
    plainFrom = opener.end;
    at = opener.end + 1;
  }
  flushPlain(lines.length);
  return mergeWords(blocks);
}

function mergeWords(blocks: readonly Block[]): Block[] {
  const merged: Block[] = [];
  for (const block of blocks) {
    const last = merged.at(-1);
    if (block.kind === 'words' && last?.kind === 'words') last.text += block.text;
    else merged.push(block);
  }
  return merged;
}

/** A line that opens a fence. */
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)/;
const SAMPLE =
  /\b(?:formats?|schema|template|structured?|looks? like|like this|as follows|(?:respond|reply|answer) with|return (?:an?|the|your)|examples?)\b/i;

/** Whether the JSON at this line is a sample of the wanted answer: an instruction, not data. */
function isSample(lines: readonly string[], at: number): boolean {
  const first = FENCE.test(lines[at] ?? '') ? lines[at + 1] : lines[at];
  if (!/^\s*[[{]/.test(first ?? '')) return false;
  const before = lines[at - 1]?.trim() === '' ? lines[at - 2] : lines[at - 1];
  return SAMPLE.test(before ?? '');
}

const TAG = /^<([A-Za-z][\w-]*)((?:\s[^<>]{0,300})?)>$/;
const DATA_LANGUAGES = new Set([
  'json',
  'jsonl',
  'ndjson',
  'log',
  'logs',
  'console',
  'text',
  'txt',
  'output',
]);
const PATH = /(?:path|file|name|filename)="([^"]+)"/;

interface Opener {
  /** Index of the closing line. */
  end: number;
  block: (text: string) => Block;
}

/** The block that a line opens: a fence, or a tag with a closing tag further down. */
function openerAt(
  lines: readonly string[],
  at: number,
  close: ReturnType<typeof closers>,
): Opener | undefined {
  const line = lines[at] ?? '';
  const fence = FENCE.exec(line);
  if (fence) {
    const end = close.fence(at, fence[1] ?? '```');
    const path = /(?<![\w./@-])([\w./@-]+\.\w+)\W*$/.exec(lines[at - 1] ?? lines[at - 2] ?? '')?.[1];
    const language = (fence[2] ?? '').toLowerCase();
    return { end, block: (text) => fenced(text, isSample(lines, at) ? 'sample' : language, path) };
  }
  const tag = line.startsWith('<') ? TAG.exec(line) : null;
  if (!tag) return undefined;
  const end = close.tag(at, tag[1] ?? '');
  if (end === undefined) return undefined;
  const path = PATH.exec(tag[2] ?? '')?.[1];
  return { end, block: (text) => (path ? { kind: 'code', text, path } : { kind: 'data', text }) };
}

function fenced(text: string, language: string, path: string | undefined): Block {
  const isData = DATA_LANGUAGES.has(language) || (language === '' && looksLikeData(text));
  if (isData) return { kind: 'data', text };
  return { kind: 'code', text, language, fenced: true, ...(path ? { path } : {}) };
}

/** Looks up closing lines without scanning the rest of the text once per opener. */
function closers(lines: readonly string[]) {
  let tags: Map<string, number[]> | undefined;
  return {
    fence(from: number, mark: string): number {
      // Fences can be nested: one with a language opens, one without closes.
      let depth = 1;
      for (let at = from + 1; at < lines.length; at++) {
        const match = FENCE.exec(lines[at] ?? '');
        if (!match?.[1]?.startsWith(mark)) continue;
        depth += match[2] === '' ? -1 : 1;
        if (depth === 0) return at;
      }
      return lines.length;
    },
    tag(from: number, name: string): number | undefined {
      tags ??= closingTags(lines);
      const list = tags.get(name);
      // Openers are looked up in order, so closing tags above this one are never needed again.
      while (list && (list.at(-1) ?? from + 1) <= from) list.pop();
      return list?.at(-1);
    },
  };
}

/** Line indexes of closing tags by tag name, last line first. */
function closingTags(lines: readonly string[]): Map<string, number[]> {
  return grouped(
    lines.map((_, i) => lines.length - 1 - i),
    (at) => {
      const line = lines[at] ?? '';
      return line.startsWith('</') ? /^<\/([A-Za-z][\w-]*)>$/.exec(line)?.[1] : undefined;
    },
  );
}

/** Whether an unlabelled fence holds data (JSON, a log, a listing) rather than code or prose. */
function looksLikeData(text: string): boolean {
  if (/^\s*[[{]["\s{[\]\d]/.test(text)) return true;
  return isDated(text);
}

/** For each line, whether it is inside a fence or opens or closes one. */
export function fencedLines(lines: readonly string[]): boolean[] {
  const fenced = lines.map(() => false);
  const close = closers(lines);
  for (let at = 0; at < lines.length; at++) {
    const mark = FENCE.exec(lines[at] ?? '')?.[1];
    if (mark === undefined) continue;
    const end = close.fence(at, mark);
    fenced.fill(true, at, end + 1);
    at = end;
  }
  return fenced;
}

/** Machine output below both limits may be text that the user wants read literally. */
const MIN_RUN_LINES = 8;
const MIN_RUN_LENGTH = 600;
/** A sentence, or an item of a handwritten list. */
const PROSE = /^(?:\d{1,3}[.)] |[-*] )?[A-Z][a-z']+,? [a-z]+,? [a-z]/;
const MAX_ODD_LINES = 3;
const MAX_LAST_LINES = 4;
const MAX_LAST_LENGTH = 400;

/** Splits text outside fences and tags. From a tool all of it is data; from a user only JSON and machine output. */
function plainBlocks(lines: string[], from: number, end: number, kind: 'words' | 'data'): Block[] {
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

/** Characters of the lines from `from` up to `end`, with their newlines. */
export function lengthOf(lines: readonly string[], from: number, end: number): number {
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

/** Joins the lines from `from` up to `end`, with the final newline unless the text ends there. */
export function joinLines(lines: readonly string[], from: number, end: number): string {
  const text = lines.slice(from, end).join('\n');
  return end < lines.length ? `${text}\n` : text;
}
