import { remembered } from '../../../json/grouped.ts';

const LABELS =
  'q|question|input|problem|example|text|review|sentence|user|human|instruction|task|query|context|passage';
const ANSWERS =
  'a|answer|output|solution|label|sentiment|response|assistant|ai|summary|translation|result|category|class';
const START = new RegExp(`^(?:#{1,4} |\\*\\*)?(${LABELS})(?: ?#?\\d{1,4})?(?:\\*\\*)?\\s?[:.)]`, 'gim');
const ANSWER = new RegExp(
  `^(?:#{1,4} |\\*\\*)?(?:${ANSWERS})(?: ?#?\\d{1,4})?(?:\\*\\*)?\\s?[:.)](?:\\*\\*)?[ \\t]*\\S`,
  'im',
);
/** Enough examples to show the format; a model learns little from more. */
const KEPT = 8;
const MIN_EXAMPLES = 12;

/**
 * Keeps the first of many worked examples, whole. The choice does not depend on the question, so that a system
 * message with examples is the same for every request.
 */
export function dropExemplars(text: string): string {
  const starts = startsOf(text);
  if (starts.length < MIN_EXAMPLES) return text;
  const pieces = starts.map((start, i) => text.slice(start, starts[i + 1] ?? text.length));
  const solved = pieces.findIndex((piece) => !ANSWER.test(piece));
  // The first example without an answer is the task. It and everything after it stays.
  const count = solved < 0 ? pieces.length - 1 : solved;
  if (count < MIN_EXAMPLES) return text;
  const from = starts[KEPT] ?? 0;
  const to = starts[count] ?? text.length;
  const end = text.slice(0, to).trimEnd().length;
  const newline = text.slice(end, to).indexOf('\n');
  const gap = newline < 0 ? '\n' : text.slice(end + newline, to);
  return `${text.slice(0, from)}[gw: ${count - KEPT} more examples of this form left out]${gap}${text.slice(to)}`;
}

/** Where examples start: at the most common label, after a blank line. */
function startsOf(text: string): number[] {
  const byLabel = new Map<string, number[]>();
  for (const { index, 1: label = '' } of text.matchAll(START)) {
    if (index === 0 || /\n[ \t]*\n$/.test(text.slice(Math.max(0, index - 8), index)))
      remembered(byLabel, label.toLowerCase(), () => []).push(index);
  }
  return [...byLabel.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}
