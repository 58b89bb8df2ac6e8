import { type Json, JsonArray, type JsonObject } from './read.ts';

/** Long prefixes that many URLs and paths share; `"~x"` stands for the text of `~` followed by x. */
export type Prefixes = readonly Prefix[];

interface Prefix {
  sign: string;
  text: string;
}

/** Whether a field of an object is written out in its place, so that a prefix can shorten it. */
export type IsWritten = (object: JsonObject, place: number) => boolean;

/** Candidates for signs; one that a string starts with is not used. Each is at most one token. */
const SIGNS = [...'~$*!^%@&;'];
const MIN_LENGTH = 16;
const MAX_PREFIX = 200;
/** The least that a prefix must save in total, and its cost in each string; both in characters. */
const MIN_GAIN = 40;
const SIGN_COST = 8;
const MAX_STRINGS = 20_000;
/** Up to this many strings, a prefix may also end before a suffix such as `.git` or `{/id}`. */
const MAX_CLOSELY = 2000;
const AFTER_SLASH = /(?<=\/)/g;
const AROUND_SIGNS = /(?<=\/)|(?=[/.{?#:])|$/g;

/** Chooses the prefixes that save most, each with a sign that no string starts with. */
export function findPrefixes(root: Json, isWritten: IsWritten): Prefixes {
  const texts = new Map<string, number>();
  const starts = new Set<string>();
  collect(root, { texts, starts, isWritten });
  if (texts.size > MAX_STRINGS) return [];
  const { strings, candidates } = findCandidates(texts);
  const prefixes: Prefix[] = [];
  for (const sign of SIGNS) {
    if (starts.has(sign)) continue;
    const text = bestPrefix(strings, candidates);
    if (text === undefined) break;
    prefixes.push({ sign, text });
    for (const string of strings) {
      if (string.text.startsWith(text)) string.covered = Math.max(string.covered, text.length);
    }
  }
  return prefixes;
}

/** Returns `"~x"` for a string that starts with the prefix of `~`, otherwise the string itself. */
export function abbreviate(text: string, prefixes: Prefixes): string {
  let longest: Prefix | undefined;
  for (const prefix of prefixes) {
    if (prefix.text.length > (longest?.text.length ?? 0) && text.startsWith(prefix.text, 1)) longest = prefix;
  }
  return longest ? `"${longest.sign}${text.slice(1 + longest.text.length)}` : text;
}

interface Found {
  /** Occurrences of each string that may have a prefix. */
  texts: Map<string, number>;
  /** First characters of all strings. */
  starts: Set<string>;
  isWritten: IsWritten;
}

function collect(value: Json, found: Found): void {
  if (typeof value === 'string') collectText(value, found);
  else if (value instanceof JsonArray) for (const item of value.items) collect(item, found);
  else
    value.values.forEach((child, i) => {
      if (typeof child !== 'string' || found.isWritten(value, i)) collect(child, found);
      else found.starts.add(child[1] ?? '');
    });
}

function collectText(value: string, { texts, starts }: Found): void {
  if (value[0] !== '"') return;
  starts.add(value[1] ?? '');
  if (value.length <= MIN_LENGTH || !value.includes('/')) return;
  const text = value.slice(1, -1);
  texts.set(text, (texts.get(text) ?? 0) + 1);
}

/** Positions where a prefix of the text may end. */
function cutsIn(text: string, cut: RegExp): number[] {
  const cuts: number[] = [];
  cut.lastIndex = MIN_LENGTH - 1;
  for (let match = cut.exec(text); match && match.index < MAX_PREFIX; match = cut.exec(text)) {
    cuts.push(match.index);
    cut.lastIndex = match.index + 1;
  }
  return cuts;
}

/** A possible prefix, and what it would save beyond the prefixes chosen so far. */
interface Candidate {
  text: string;
  gain: number;
}

interface Shared {
  text: string;
  count: number;
  /** Length that a chosen prefix already covers. */
  covered: number;
  candidates: Candidate[];
}

/** Prefixes that save enough. Most candidates occur in one string only, and a gain that is too small never grows. */
function findCandidates(texts: ReadonlyMap<string, number>): { strings: Shared[]; candidates: Candidate[] } {
  const byText = new Map<string, Candidate>();
  const isCut = texts.size > MAX_CLOSELY ? AFTER_SLASH : AROUND_SIGNS;
  const strings: Shared[] = [];
  for (const [text, count] of texts) {
    const candidates: Candidate[] = [];
    for (const end of cutsIn(text, isCut)) {
      const prefix = text.slice(0, end);
      if (prefix.includes('\\')) break;
      let candidate = byText.get(prefix);
      if (!candidate) {
        candidate = { text: prefix, gain: 0 };
        byText.set(prefix, candidate);
      }
      candidate.gain += gainOf(end, 0, count);
      candidates.push(candidate);
    }
    strings.push({ text, count, covered: 0, candidates });
  }
  const pays = ({ text, gain }: Candidate) => gain - text.length > MIN_GAIN;
  for (const string of strings) string.candidates = string.candidates.filter(pays);
  return {
    strings: strings.filter(({ candidates }) => candidates.length > 0),
    candidates: [...byText.values()].filter(pays),
  };
}

function gainOf(end: number, covered: number, count: number): number {
  return end > covered ? (end - Math.max(covered, SIGN_COST)) * count : 0;
}

function bestPrefix(strings: readonly Shared[], candidates: readonly Candidate[]): string | undefined {
  for (const candidate of candidates) candidate.gain = 0;
  for (const { count, covered, candidates } of strings) {
    for (const candidate of candidates) candidate.gain += gainOf(candidate.text.length, covered, count);
  }
  let best: string | undefined;
  let bestGain = MIN_GAIN;
  for (const { text, gain } of candidates) {
    if (gain - text.length > bestGain) {
      best = text;
      bestGain = gain - text.length;
    }
  }
  return best;
}
