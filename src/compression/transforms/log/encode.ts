import { joinLine, type LogLine, mineTemplates, splitLine, type Template, timesIn } from './templates.ts';

interface LogOptions {
  /** Lines to keep as they are, whatever pattern they follow. */
  keepLine?: (line: string, count: number) => boolean;
  /** Dates and times stay as they were written. */
  keepTimes?: boolean;
}

/** A pattern costs a line; it needs at least this many lines to pay off. */
const MIN_COUNT = 3;
const DITTO = '"';
/** Signs that start a line of values (no line starts with it) or mark a value in a pattern (no line contains it). */
const STARTS = ['@', '~', '%', '!', '&', ';', '$'];
const BLANKS = ['*', '_', '…', '¤'];

/**
 * Writes repetitive lines as the number of a pattern and its values; undefined if no signs are free. Lossless, except
 * that runs of spaces become one space.
 */
export function encodeLog(text: string, options: LogOptions = {}) {
  const raw = text.split('\n');
  const signs = chooseSigns(text, raw);
  if (!signs) return undefined;
  const lines = raw.map(splitLine);
  const keepTimes = options.keepTimes ?? false;
  const chosen = chooseTemplates(lines, options);
  const coder = new Coder(signs, keepTimes);
  const body = chosen.map(({ line, template }) => coder.write(line, template));
  const coded = chosen.filter(({ line, template }) => template && isProper(line)).length;
  return { text: [coder.legend(), ...coder.patterns, ...body].join('\n'), coded, lines: raw.length };
}

function chooseSigns(text: string, lines: readonly string[]): Signs | undefined {
  const starts = new Set(lines.map((line) => line[0]));
  const [pattern, again] = STARTS.filter((sign) => !starts.has(sign));
  const blank = BLANKS.find((sign) => !text.includes(sign));
  return pattern && again && blank ? { pattern, again, blank } : undefined;
}

function chooseTemplates(lines: readonly LogLine[], { keepLine, keepTimes }: LogOptions) {
  const mined = mineTemplates(lines, keepTimes);
  return lines.map((line, i) => {
    const template = mined[i];
    const count = template?.count ?? 1;
    const pays = count >= MIN_COUNT && isPlain(line) && keepLine?.(line.text, count) !== true;
    return { line, template: pays ? template : undefined };
  });
}

/** Whether a line can be written as values. Spaces separate values, and `"` is a sign. */
const isPlain = (line: LogLine): boolean => !/[^\S \t]/.test(line.text) && !line.words.includes(DITTO);

/** Whether a line is like a log. Quoted words and separate punctuation belong to configuration and prose. */
const isProper = (line: LogLine): boolean => !line.words.some((word) => /^[".:]/.test(word));

interface Signs {
  /** Starts a line with a different pattern than the line above. */
  pattern: string;
  /** Starts a line with the same pattern. */
  again: string;
  blank: string;
}

class Coder {
  readonly patterns: string[] = [];
  readonly #signs: Signs;
  readonly #keepTimes: boolean;
  readonly #ids = new Map<Template, number>();
  readonly #lastOf = new Map<Template, readonly string[]>();
  #aboveTemplate: Template | undefined;

  constructor(signs: Signs, keepTimes: boolean) {
    this.#signs = signs;
    this.#keepTimes = keepTimes;
  }

  legend(): string {
    const { pattern, again, blank } = this.#signs;
    return `[gw log: ${pattern}2 a b = line ${pattern}2 with a, b for ${blank} (${again}a b: the same line again); ${DITTO} = as before]`;
  }

  write(line: LogLine, template: Template | undefined): string {
    if (!template) {
      this.#aboveTemplate = undefined;
      return line.text;
    }
    const id = this.#ids.get(template) ?? this.#define(template, this.#ids.size + 1);
    const values = this.#values(line, template);
    while (values.at(-1) === DITTO) values.pop();
    const start = template === this.#aboveTemplate ? this.#signs.again : `${this.#signs.pattern}${id} `;
    this.#aboveTemplate = template;
    this.#lastOf.set(template, line.words);
    return start + values.join(' ');
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
      if (word === last[i]) values.push(DITTO);
      else values.push(word.slice(affix?.prefix.length ?? 0, word.length - (affix?.suffix.length ?? 0)));
    });
    return values;
  }

  #define(template: Template, id: number): number {
    this.#ids.set(template, id);
    let place = 0;
    const words = template.words.map((word) => {
      if (word !== null) return word;
      const affix = template.affixes[place++];
      return `${affix?.prefix ?? ''}${this.#signs.blank}${affix?.suffix ?? ''}`;
    });
    this.patterns.push(`${this.#signs.pattern}${id} = ${joinLine(words, template.gaps)}`);
    return id;
  }
}
