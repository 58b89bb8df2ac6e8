import {
  freeTimes,
  joinLine,
  type LogLine,
  mergeLines,
  mineTemplates,
  partsDate,
  splitLine,
  type Template,
  timesIn,
} from './templates.ts';

interface LogOptions {
  /** Lines to keep as they are, whatever pattern they follow. */
  keepLine?: (line: string, count: number) => boolean;
  /** Dates and times stay as they were written. */
  keepTimes?: boolean;
}

interface EncodedLog {
  text: string;
  /** Number of log-like lines that were written as values of a pattern. */
  coded: number;
  lines: number;
  /** Lines that `keepLine` kept. */
  kept: ReadonlySet<string>;
}

/** A line and its template, if it is written by one. */
interface Coded {
  line: LogLine;
  template: Template | undefined;
}

/** A pattern costs a line; it needs at least this many lines to pay off. */
const MIN_COUNT = 3;
const DITTO = '"';
/** Signs that start a line of values (no line starts with it) or mark a value in a pattern (no line contains it). */
const STARTS = ['@', '~', '%', '!', '&', ';', '$'];
const BLANKS = ['*', '_', '…', '¤'];
const COLUMNS = ['^', '°', '›', '¨'];

/**
 * Writes repetitive lines as the number of a pattern and its values; undefined if no signs are free. Lossless, except
 * that runs of spaces become one space.
 */
export function encodeLog(text: string, options: LogOptions = {}): EncodedLog | undefined {
  const raw = text.split('\n');
  const signs = chooseSigns(text, raw);
  if (!signs) return undefined;
  const lines = raw.map(splitLine);
  const columns = countColumns(lines);
  const keepTimes = options.keepTimes ?? false;
  const kept = new Set<string>();
  const chosen = chooseTemplates(lines, options, kept);
  const open = addOpenTemplate(chosen, { columns, keepTimes }, kept);
  const coder = new Coder(signs, columns, { open, keepTimes });
  const body = chosen.map(({ line, template }) => coder.write(line, template));
  const coded = chosen.filter(({ line, template }) => template && template !== open && isProper(line)).length;
  return { text: [coder.legend(), ...coder.patterns, ...body].join('\n'), coded, lines: raw.length, kept };
}

function chooseSigns(text: string, lines: readonly string[]): Signs | undefined {
  const starts = new Set(lines.map((line) => line[0]));
  const [pattern, again, rest] = STARTS.filter((sign) => !starts.has(sign));
  const blank = BLANKS.find((sign) => !text.includes(sign));
  const column = COLUMNS.find((sign) => !text.includes(sign));
  return pattern && again && rest && blank && column
    ? { pattern, again, open: rest, blank, column }
    : undefined;
}

function chooseTemplates(
  lines: readonly LogLine[],
  { keepLine, keepTimes }: LogOptions,
  kept: Set<string>,
): Coded[] {
  const mined = mineTemplates(lines, keepTimes);
  return lines.map((line, i) => {
    const template = mined[i];
    const count = template?.count ?? 1;
    if (keepLine?.(line.text, count) === true) {
      kept.add(line.text);
      return { line, template: undefined };
    }
    const pays = template && count >= MIN_COUNT && isPlain(line, line.words.length);
    return { line, template: pays ? template : undefined };
  });
}

/** Lines without a pattern still share the columns of the log: adds a pattern whose last value is the rest. */
function addOpenTemplate(
  chosen: Coded[],
  { columns, keepTimes }: { columns: number; keepTimes: boolean },
  kept: ReadonlySet<string>,
): Template | undefined {
  if (columns === 0) return undefined;
  const split = chosen.map(({ line, template }) => {
    if (template || !isPlain(line, columns) || kept.has(line.text)) return undefined;
    if (keepTimes && partsDate(line, timesIn(line.words))) return undefined;
    const parts = splitColumns(line, columns);
    return parts?.words.at(-1) === DITTO ? undefined : parts;
  });
  const open = columnTemplate(split.filter((line) => line !== undefined));
  if (open && keepTimes) for (const line of split) if (line) freeTimes(open, timesIn(line.words));
  const outline = open?.gaps.join('\n');
  split.forEach((line, i) => {
    if (line && line.gaps.join('\n') === outline) chosen[i] = { line, template: open };
  });
  return open;
}

/** Whether a line can be written as values. Spaces separate values, and `"` is a sign. */
function isPlain(line: LogLine, words: number): boolean {
  return !/[^\S \t]/.test(line.text) && !line.words.slice(0, words).includes(DITTO);
}

/** Whether a line is like a log. Quoted words and separate punctuation belong to configuration and prose. */
function isProper(line: LogLine): boolean {
  return !line.words.some((word) => /^[".:]/.test(word));
}

interface Signs {
  /** Starts a line with a different pattern than the line above. */
  pattern: string;
  /** Starts a line with the same pattern. */
  again: string;
  /** Starts a line with the open-ended pattern. */
  open: string;
  blank: string;
  column: string;
}

class Coder {
  readonly patterns: string[] = [];
  readonly #signs: Signs;
  readonly #columns: number;
  readonly #open: Template | undefined;
  readonly #keepTimes: boolean;
  readonly #ids = new Map<Template, number>();
  readonly #lastOf = new Map<Template, readonly string[]>();
  #above: readonly string[] = [];
  #aboveTemplate: Template | undefined;

  constructor(
    signs: Signs,
    columns: number,
    { open, keepTimes }: { open: Template | undefined; keepTimes: boolean },
  ) {
    this.#signs = signs;
    this.#columns = columns;
    this.#open = open;
    this.#keepTimes = keepTimes;
    if (open) this.#define(open, 0);
  }

  legend(): string {
    const { pattern, again, open, blank, column } = this.#signs;
    const rest = this.#open ? `, ${open}a b: line ${pattern}0` : '';
    return `[gw log: ${pattern}2 a b = line ${pattern}2 with a, b for ${column} ${blank} (${again}a b: the same line again${rest}); ${DITTO} = as before]`;
  }

  write(line: LogLine, template: Template | undefined): string {
    if (!template) {
      this.#aboveTemplate = undefined;
      return line.text;
    }
    const id = this.#ids.get(template) ?? this.#define(template, this.#ids.size + 1);
    const values = this.#values(line, template);
    while (values.at(-1) === DITTO) values.pop();
    const start = this.#startOf(template, id);
    this.#above = line.words;
    this.#aboveTemplate = template;
    this.#lastOf.set(template, line.words);
    return start + values.join(' ');
  }

  #startOf(template: Template, id: number): string {
    if (template === this.#open) return this.#signs.open;
    return template === this.#aboveTemplate ? this.#signs.again : `${this.#signs.pattern}${id} `;
  }

  #values(line: LogLine, template: Template): string[] {
    const last = this.#lastOf.get(template) ?? [];
    const values: string[] = [];
    const times = this.#keepTimes ? timesIn(line.words) : undefined;
    let place = 0;
    template.words.forEach((constant, i) => {
      if (constant !== null) return;
      const affix = template.affixes[place++];
      const word = line.words[i] ?? '';
      if (times?.[i]) {
        values.push(word);
        return;
      }
      const before = (i < this.#columns ? this.#above : last)[i];
      if (word === before) values.push(DITTO);
      else values.push(word.slice(affix?.prefix.length ?? 0, word.length - (affix?.suffix.length ?? 0)));
    });
    return values;
  }

  #define(template: Template, id: number): number {
    this.#ids.set(template, id);
    let place = 0;
    const words = template.words.map((word, i) => {
      if (word !== null) return word;
      const affix = template.affixes[place++];
      const sign = i < this.#columns ? this.#signs.column : this.#signs.blank;
      return `${affix?.prefix ?? ''}${sign}${affix?.suffix ?? ''}`;
    });
    this.patterns.push(`${this.#signs.pattern}${id} = ${joinLine(words, template.gaps)}`);
    return id;
  }
}

const MAX_COLUMNS = 9;

/**
 * How many leading words are columns of the log (time, host, process, ...): in nearly every line they contain digits
 * or are the same.
 */
function countColumns(lines: readonly LogLine[]): number {
  const filled = lines.filter((line) => line.words.length > 0);
  for (let column = 0; column < MAX_COLUMNS; column++) {
    const counts = new Map<string, number>();
    let figures = 0;
    for (const line of filled) {
      const word = line.words[column];
      if (word === undefined) continue;
      if (/\d/.test(word)) figures++;
      else counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    if (figures + Math.max(0, ...counts.values()) < filled.length * 0.85) return column;
  }
  return MAX_COLUMNS;
}

/** Splits a line into its columns and the rest as one word. */
function splitColumns(line: LogLine, columns: number): LogLine | undefined {
  if (line.words.length <= columns) return undefined;
  let at = 0;
  for (let i = 0; i <= columns; i++)
    at = line.text.indexOf(line.words[i] ?? '', at) + (i < columns ? (line.words[i]?.length ?? 0) : 0);
  return {
    text: line.text,
    words: [...line.words.slice(0, columns), line.text.slice(at)],
    gaps: [...line.gaps.slice(0, columns + 1), ''],
  };
}

/** A template for lines without a pattern: the most common outline of their columns, then an open end. */
function columnTemplate(lines: readonly LogLine[]): Template | undefined {
  const byOutline = new Map<string, LogLine[]>();
  for (const line of lines) {
    const outline = line.gaps.join('\n');
    const list = byOutline.get(outline);
    if (list) list.push(line);
    else byOutline.set(outline, [line]);
  }
  const [most = []] = [...byOutline.values()].sort((a, b) => b.length - a.length);
  const template = mergeLines(most);
  if (!template || template.count < 3) return undefined;
  template.words[template.words.length - 1] = null;
  return template;
}
