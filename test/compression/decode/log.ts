import { joinLine, type LogLine, splitLine } from '../../../src/compression/transforms/log/templates.ts';

const LEGEND = /^\[gw log: (\S)2 a b = line \S2 with a, b for (\S) \((\S)a b: the same line again\)/;

/** Reads back what `encodeLog` wrote, runs of blanks in a coded line as one blank. */
export function decodeLog(text: string): string {
  const [legend = '', ...lines] = text.split('\n');
  const [, sigil = '', blank = '', again = ''] = LEGEND.exec(legend) ?? [];
  if (sigil === '') throw new Error('not a log that gw wrote');
  const patterns = new Map<string, LogLine>();
  let at = 0;
  for (; at < lines.length; at++) {
    const definition = lines[at]?.startsWith(sigil) ? /^.(\d+) = (.*)$/.exec(lines[at] ?? '') : null;
    if (!definition || patterns.has(definition[1] ?? '')) break;
    patterns.set(definition[1] ?? '', splitLine(definition[2] ?? ''));
  }
  const lastOf = new Map<string, string[]>();
  let tagAbove = '';
  const decoded = lines.slice(at).map((line) => {
    const start = line[0] ?? '';
    if (start !== sigil && start !== again) {
      tagAbove = '';
      return line;
    }
    const values = line.length === 1 ? [] : line.slice(1).split(' ');
    const tag = start === again ? tagAbove : (values.shift() ?? '');
    const pattern = patterns.get(tag);
    if (!pattern) throw new Error(`no pattern ${tag}`);
    const last = lastOf.get(tag) ?? [];
    const words = pattern.words.map((word, i) => {
      if (!word.includes(blank)) return word;
      const value = values.shift() || '"';
      return value === '"' ? (last[i] ?? '') : word.replace(blank, () => value);
    });
    tagAbove = tag;
    lastOf.set(tag, words);
    return joinLine(words, pattern.gaps);
  });
  return decoded.join('\n');
}
