import { joinLine, type LogLine, splitLine } from '../../../src/compression/transforms/log/templates.ts';

const LEGEND =
  /^\[gw log: (\S)2 a b = line \S2 with a, b for (\S) (\S) \((\S)a b: the same line again(?:, (\S)a b: line \S0)?\)/;

/** Reads back what `encodeLog` wrote, runs of blanks in a coded line as one blank. */
export function decodeLog(text: string): string {
  const [legend = '', ...lines] = text.split('\n');
  const [, sigil = '', column = '', blank = '', again = '', open] = LEGEND.exec(legend) ?? [];
  if (sigil === '') throw new Error('not a log that gw wrote');
  const patterns = new Map<string, LogLine>();
  let at = 0;
  for (; at < lines.length; at++) {
    const definition = lines[at]?.startsWith(sigil) ? /^.(\d+) = (.*)$/.exec(lines[at] ?? '') : null;
    if (!definition || patterns.has(definition[1] ?? '')) break;
    patterns.set(definition[1] ?? '', splitLine(definition[2] ?? ''));
  }
  const lastOf = new Map<string, string[]>();
  let above: string[] = [];
  let tagAbove = '';
  const decoded = lines.slice(at).map((line) => {
    const start = line[0] ?? '';
    if (start !== sigil && start !== again && start !== open) {
      tagAbove = '';
      return line;
    }
    const values = line.length === 1 ? [] : line.slice(1).split(' ');
    const tag = start === open ? '0' : start === again ? tagAbove : (values.shift() ?? '');
    const pattern = patterns.get(tag);
    if (!pattern) throw new Error(`no pattern ${tag}`);
    const last = lastOf.get(tag) ?? [];
    const words = pattern.words.map((word, i) => {
      const isColumn = word.includes(column);
      if (!isColumn && !word.includes(blank)) return word;
      const before = (isColumn ? above : last)[i] ?? '';
      const isRest = tag === '0' && i === pattern.words.length - 1;
      const value = (isRest ? values.splice(0).join(' ') : values.shift()) || '"';
      if (value === '"') return before;
      return word.replace(isColumn ? column : blank, () => value);
    });
    above = words;
    tagAbove = tag;
    lastOf.set(tag, words);
    return joinLine(words, pattern.gaps);
  });
  return decoded.join('\n');
}
