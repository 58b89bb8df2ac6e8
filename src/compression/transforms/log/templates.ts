/** A line, split at white space and separators. */
export interface LogLine {
  text: string;
  words: readonly string[];
  /** The separators before each word and after the last; runs of spaces as one. */
  gaps: readonly string[];
}

/** The pattern of similar lines: `null` marks the words that differ. */
export interface Template {
  words: (string | null)[];
  gaps: readonly string[];
  count: number;
  /** For each word that differs, the prefix and suffix of all its values. */
  affixes: Affix[];
}

interface Affix {
  prefix: string;
  suffix: string;
  /** The length of the shortest value. */
  shortest: number;
}

/** Lines share a template if at least this share of their words without digits is equal. */
const SIMILAR = 0.55;
const MAX_WORDS = 60;
/** At most this many templates of one outline are compared with a line, for speed. */
const MAX_RIVALS = 24;
/** Words and what parts them. A comma before the milliseconds of a time, as Python and log4j write it, parts nothing. */
const WORD_OR_GAP = /(?:[^\s,|=;]|(?<=:\d\d),(?=\d{3}(?!\d)))+|[\s,|=;]+/g;
const IS_GAP = /^[\s,|=;]/;
const DIGIT = /\d/;

export function splitLine(text: string): LogLine {
  const words: string[] = [];
  const gaps: string[] = [];
  for (const piece of text.match(WORD_OR_GAP) ?? []) {
    // Padding is dropped, but leading spaces are indentation.
    if (IS_GAP.test(piece))
      gaps[words.length] = piece.length > 1 && words.length > 0 ? piece.replace(/[ \t]+/g, ' ') : piece;
    else {
      gaps[words.length] ??= '';
      words.push(piece);
    }
  }
  gaps[words.length] ??= '';
  return { text, words, gaps };
}

export function joinLine(words: readonly string[], gaps: readonly string[]): string {
  let line = '';
  for (let i = 0; i < words.length; i++) line += `${gaps[i]}${words[i]}`;
  return line + gaps[words.length];
}

/**
 * Groups lines by template in one pass, like the Drain log parser: same outline first, then the most similar template.
 * Undefined for an empty or too long line. `keepTimes`: dates and times are values as a whole, even if all lines share
 * them.
 */
export function mineTemplates(lines: readonly LogLine[], keepTimes = false): (Template | undefined)[] {
  const byOutline = new Map<string, Template[]>();
  const times = keepTimes ? lines.map(({ words }) => timesIn(words)) : [];
  const assigned = lines.map((line, i) => {
    if (line.words.length === 0 || line.words.length > MAX_WORDS || partsDate(line, times[i]))
      return undefined;
    const outline = line.gaps.join('\n');
    let rivals = byOutline.get(outline);
    if (!rivals) {
      rivals = [];
      byOutline.set(outline, rivals);
    }
    return joinBest(line, rivals);
  });
  assigned.forEach((template, i) => {
    if (template) freeTimes(template, times[i]);
  });
  measureAffixes(lines, assigned);
  if (keepTimes)
    eachValue(lines, assigned, (template, place, { line, at }) => {
      const affix = template.affixes[place];
      if (!affix || !times[line]?.[at]) return;
      affix.prefix = '';
      affix.suffix = '';
    });
  return assigned;
}

/** Makes values of the dates and times of a line, also of those that all lines share. */
function freeTimes(template: Template, times: readonly TimeKind[] | undefined): void {
  times?.forEach((kind, at) => {
    if (kind) template.words[at] = null;
  });
}

/** Whether a pattern would part a date from its comma: `Tue, 24 Nov 2026`. */
function partsDate({ gaps }: LogLine, times: readonly TimeKind[] | undefined): boolean {
  if (!times?.includes('spelled')) return false;
  return times.some(
    (kind, at) => kind === 'spelled' && times[at + 1] === 'spelled' && /\S/.test(gaps[at + 1] ?? ''),
  );
}

function joinBest(line: LogLine, rivals: Template[]): Template | undefined {
  let best: Template | undefined;
  let bestScore = SIMILAR;
  for (const rival of rivals) {
    const score = similarity(rival.words, line.words);
    if (score < bestScore) continue;
    best = rival;
    bestScore = score;
    if (score === 1) break;
  }
  if (best) return merge(best, line);
  if (rivals.length >= MAX_RIVALS) return undefined;
  best = merge(undefined, line);
  rivals.push(best);
  return best;
}

function merge(template: Template | undefined, line: LogLine): Template {
  if (!template) return { words: [...line.words], gaps: line.gaps, count: 1, affixes: [] };
  template.count++;
  for (let i = 0; i < line.words.length; i++) {
    if (template.words[i] !== line.words[i]) template.words[i] = null;
  }
  return template;
}

function similarity(template: readonly (string | null)[], words: readonly string[]): number {
  let same = 0;
  let all = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    const other = template[i];
    if (other === word) {
      same++;
      all++;
    } else if (!DIGIT.test(word) || (typeof other === 'string' && !DIGIT.test(other))) {
      // Two words with digits are values, which do not count as a difference.
      all++;
    }
  }
  return all === 0 ? SIMILAR : same / all;
}

function measureAffixes(lines: readonly LogLine[], assigned: readonly (Template | undefined)[]): void {
  eachValue(lines, assigned, (template, place, { word }) => narrow(template.affixes, place, word));
  for (const template of new Set(assigned)) for (const affix of template?.affixes ?? []) trimAffix(affix);
  eachValue(lines, assigned, ({ affixes }, place, { word }) => {
    const affix = affixes[place];
    // The rest of a value must not look like the sign `"`.
    if (affix && word.startsWith('"', affix.prefix.length)) affix.prefix = '';
  });
}

/** A word of a line that its template doesn't fix: the line's number, and the word's place in it. */
interface Value {
  line: number;
  at: number;
  word: string;
}

function eachValue(
  lines: readonly LogLine[],
  assigned: readonly (Template | undefined)[],
  visit: (template: Template, place: number, value: Value) => void,
): void {
  lines.forEach((line, i) => {
    const template = assigned[i];
    if (!template || template.count === 1) return;
    let place = 0;
    template.words.forEach((constant, at) => {
      if (constant === null) visit(template, place++, { line: i, at, word: line.words[at] ?? '' });
    });
  });
}

function narrow(affixes: Affix[], place: number, word: string): void {
  const affix = affixes[place];
  if (!affix) {
    affixes[place] = { prefix: word, suffix: word, shortest: word.length };
    return;
  }
  affix.shortest = Math.min(affix.shortest, word.length);
  affix.prefix = affix.prefix.slice(0, shared(affix.prefix, word));
  affix.suffix = affix.suffix.slice(affix.suffix.length - sharedEnd(affix.suffix, word));
}

/** Cuts an affix at separators, so that names and numbers stay whole and no value becomes empty. */
function trimAffix(affix: Affix): void {
  affix.prefix = /^.*[^\p{L}\p{N}.]/u.exec(affix.prefix)?.[0] ?? '';
  const separator = affix.suffix.search(/[^\p{L}\p{N}.]/u);
  affix.suffix = separator < 0 ? '' : affix.suffix.slice(separator);
  if (affix.prefix.length >= affix.shortest) affix.prefix = '';
  if (affix.prefix.length + affix.suffix.length >= affix.shortest) affix.suffix = '';
}

function shared(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

function sharedEnd(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(a.length - 1 - at) === b.charCodeAt(b.length - 1 - at)) at++;
  return at;
}

/** Contains a date or a time of day in one of the forms that logs have. */
const CONTAINS_TIME = /\d{1,2}:\d\d|\d{1,4}[-/.](?:\d{1,2}|[A-Z][a-z]{2})[-/.]\d{2,4}|^\d{10}(?:\d{3})?$/;

/** A day of the week or a month, in full or short. */
const MONTH =
  /(?:^|[^\p{L}\p{N}])(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?$/iu;
const WEEKDAY =
  /(?:^|[^\p{L}\p{N}])(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\.?$/iu;
/** A day of the month, or a year. */
const FIGURE = /^(?:\d{1,2}(?:st|nd|rd|th|\.)?|\d{4})[\])]?$/;
const ZONE =
  /^\(?(?:[+-]\d\d:?\d\d|(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d\d)?)?|[A-Z][a-z]+(?:\/[A-Z][A-Za-z_-]+){1,2}|Z|[A-Z]{1,4}T|[AaPp]\.?[Mm]\.?)[\])]?$/;
/** Between the parts of a date: `Nov 10 at 10:00`, `Nov 10 10:00 - 11:00`. */
const JOINT = /^(?:at|@|-|–)$/;
/** A month beside a day, within a longer text. */
const SPELLED_DATE =
  /\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}\b|\b\d{1,2} +(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/;

/** Contains a date or a time of day in one word, or a date in words if it is a text of several. */
function containsTime(word: string): boolean {
  return CONTAINS_TIME.test(word) || (word.includes(' ') && SPELLED_DATE.test(word));
}

/** What a word is: part of a date that is spelled in several words, another date or time, or neither. */
type TimeKind = 'spelled' | 'plain' | undefined;

/** The dates and times among the words of a line: all of `Tue Nov 24 10:00:00 2026 +0200` is spelled. */
export function timesIn(words: readonly string[]): TimeKind[] {
  const kinds = words.map((word): TimeKind => (containsTime(word) ? 'plain' : undefined));
  const names = words.map((word) => MONTH.test(word) || WEEKDAY.test(word));
  const isPart = (i: number) => {
    const word = words[i];
    if (word === undefined) return false;
    return kinds[i] !== undefined || names[i] || FIGURE.test(word) || ZONE.test(word);
  };
  for (let start = 0; start < words.length; start++) {
    let end = start;
    while (isPart(end) || (end > start && JOINT.test(words[end] ?? '') && isPart(end + 1))) end++;
    // A name alone is a word or a person.
    if (end - start > 1 && names.slice(start, end).includes(true)) kinds.fill('spelled', start, end);
    // A zone, or the half of the day, belongs to the time before it.
    else if (end > start + 1)
      for (let i = start + 1; i < end; i++)
        if (kinds[i - 1] && ZONE.test(words[i] ?? '')) kinds[i] ??= 'plain';
    start = end;
  }
  return kinds;
}
