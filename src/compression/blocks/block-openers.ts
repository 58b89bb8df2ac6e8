import type { Block } from './block.ts';
import { FENCE, isSample } from './format-examples.ts';
import { isDated } from './line-kinds.ts';

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

export interface Opener {
  /** Index of the closing line. */
  end: number;
  block: (text: string) => Block;
}

/** The block that a line opens: a fence, or a tag with a closing tag further down. */
export function openerAt(lines: readonly string[], at: number, close: Closers): Opener | undefined {
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

export interface Closers {
  fence: (from: number, mark: string) => number;
  tag: (from: number, name: string) => number | undefined;
}

/** Looks up closing lines without scanning the rest of the text once per opener. */
export function closers(lines: readonly string[]): Closers {
  let tags: Map<string, number[]> | undefined;
  return {
    fence(from, mark) {
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
    tag(from, name) {
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
  const tags = new Map<string, number[]>();
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] ?? '';
    const name = line.startsWith('</') ? /^<\/([A-Za-z][\w-]*)>$/.exec(line)?.[1] : undefined;
    if (name === undefined) continue;
    const list = tags.get(name);
    if (list) list.push(at);
    else tags.set(name, [at]);
  }
  return tags;
}

/** Whether an unlabelled fence holds data (JSON, a log, a listing) rather than code or prose. */
function looksLikeData(text: string): boolean {
  if (/^\s*[[{]["\s{[\]\d]/.test(text)) return true;
  return isDated(text);
}
