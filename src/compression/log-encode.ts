import { columnTemplate, countColumns, splitColumns } from './log-columns.ts';
import { joinLine, type LogLine, mineTemplates, splitLine, type Template } from './log-templates.ts';
import { END_OF_DATE, shortenTime } from './log-times.ts';

export interface LogOptions {
  /** Lines that stay as they are, whatever pattern they follow. */
  keepLine?: (line: string, count: number) => boolean;
}

export interface EncodedLog {
  text: string;
  /** Lines that became values of a pattern. */
  coded: number;
  lines: number;
  /** Lines that stay as they are because `keepLine` says so. */
  kept: ReadonlySet<string>;
}

/** A line and the template that it is written by. */
interface Coded {
  line: LogLine;
  template: Template | undefined;
}

/** A pattern costs its own line; fewer lines than this don't pay for it. */
const MIN_COUNT = 3;
const DITTO = '"';
/** Characters that may stand for "pattern", "value" and "value as in the line above"; unused ones are chosen. */
const SIGILS = ['@', '~', '%', '^'];
const BLANKS = ['*', '_', '…', '¤'];
const COLUMNS = ['^', '°', '›', '¨'];

/**
 * Writes repetitive lines as a pattern's number and values; undefined where the signs that it needs are
 * taken. `decodeLog` reads it back, with runs of blanks as one blank.
 */
export function encodeLog(text: string, options: LogOptions = {}): EncodedLog | undefined {
  const raw = text.split('\n');
  const sigil = SIGILS.find((sign) => !raw.some((line) => line.startsWith(sign)));
  const blank = BLANKS.find((sign) => !text.includes(sign));
  const column = COLUMNS.find((sign) => sign !== sigil && !text.includes(sign));
  if (!sigil || !blank || !column) return undefined;
  const lines = raw.map(splitLine);
  const columns = countColumns(lines);
  const kept = new Set<string>();
  const chosen = chooseTemplates(lines, options, kept);
  const open = addOpenTemplate(chosen, columns, kept);
  const coder = new Coder({ sigil, blank, column }, columns, open);
  const body = chosen.map(({ line, template }) => coder.write(line, template));
  const coded = chosen.filter(({ template }) => template && template !== open).length;
  return { text: [coder.legend(), ...coder.patterns, ...body].join('\n'), coded, lines: raw.length, kept };
}

function chooseTemplates(lines: readonly LogLine[], options: LogOptions, kept: Set<string>): Coded[] {
  const mined = mineTemplates(lines);
  return lines.map((line, i) => {
    const template = mined[i];
    const count = template?.count ?? 1;
    if (options.keepLine?.(line.text, count) === true) {
      kept.add(line.text);
      return { line, template: undefined };
    }
    const pays = template && count >= MIN_COUNT && isPlain(line, line.words.length);
    return { line, template: pays ? template : undefined };
  });
}

/** Lines of no pattern share the log's columns at least: one more pattern, whose last value is the rest. */
function addOpenTemplate(chosen: Coded[], columns: number, kept: ReadonlySet<string>): Template | undefined {
  if (columns === 0) return undefined;
  const split = chosen.map(({ line, template }) => {
    if (template || !isPlain(line, columns) || kept.has(line.text)) return undefined;
    const parts = splitColumns(line, columns);
    return parts?.words.at(-1) === DITTO ? undefined : parts;
  });
  const open = columnTemplate(split.filter((line) => line !== undefined));
  const outline = open?.gaps.join('\n');
  split.forEach((line, i) => {
    if (line && line.gaps.join('\n') === outline) chosen[i] = { line, template: open };
  });
  return open;
}

/** Values are told apart by blanks, and `"` `.` `:` at their start mean something, as do ends of dates. */
function isPlain(line: LogLine, words: number): boolean {
  if (/[^\S \t]/.test(line.text)) return false;
  for (let i = 0; i < words; i++) {
    const word = line.words[i] ?? '';
    if (/^[".:]/.test(word) || END_OF_DATE.test(word)) return false;
  }
  return true;
}

interface Signs {
  sigil: string;
  blank: string;
  column: string;
}

class Coder {
  readonly patterns: string[] = [];
  readonly #signs: Signs;
  readonly #columns: number;
  readonly #ids = new Map<Template, number>();
  readonly #lastOf = new Map<Template, readonly string[]>();
  #above: readonly string[] = [];
  #aboveTemplate: Template | undefined;

  constructor(signs: Signs, columns: number, open: Template | undefined) {
    this.#signs = signs;
    this.#columns = columns;
    if (open) this.#define(open, 0);
  }

  legend(): string {
    const { sigil, blank, column } = this.#signs;
    return `[gw log: ${sigil}2 a b = line ${sigil}2 with a, b for ${column} ${blank} (${sigil} a b: the same line again); ${DITTO} = as before; .5, :05 or -05 = time or date up to there as before]`;
  }

  write(line: LogLine, template: Template | undefined): string {
    if (!template) {
      this.#aboveTemplate = undefined;
      return line.text;
    }
    const id = this.#ids.get(template) ?? this.#define(template, this.#ids.size + 1);
    const values = this.#values(line, template);
    while (values.at(-1) === DITTO) values.pop();
    const tag = template === this.#aboveTemplate ? '' : String(id);
    this.#above = line.words;
    this.#aboveTemplate = template;
    this.#lastOf.set(template, line.words);
    return [this.#signs.sigil + tag, ...values].join(' ');
  }

  #values(line: LogLine, template: Template): string[] {
    const last = this.#lastOf.get(template) ?? [];
    const values: string[] = [];
    let place = 0;
    template.words.forEach((constant, i) => {
      if (constant !== null) return;
      const affix = template.affixes[place++];
      const word = line.words[i] ?? '';
      const isColumn = i < this.#columns;
      const before = (isColumn ? this.#above : last)[i];
      const short = before === undefined || !isColumn ? word : shortenTime(before, word);
      if (word === before) values.push(DITTO);
      else if (short !== word) values.push(short);
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
    this.patterns.push(`${this.#signs.sigil}${id} = ${joinLine(words, template.gaps)}`);
    return id;
  }
}
