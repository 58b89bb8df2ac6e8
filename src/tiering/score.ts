import { type Scan, scan } from './scan.ts';

/** The fields of a chat message that scoring reads. */
export interface ScoredMessage {
  role: string;
  content?: unknown;
}

/** Predicted need for the strong tier, by hand-set weights, with keywords that explain it. */
export interface TierScore {
  /** In [0,1]. */
  score: number;
  why: string[];
}

/** Scores the last user turn of a conversation. */
export function scorePrompt(messages: readonly ScoredMessage[]): TierScore {
  return scoreCounts(scan(promptText(messages)));
}

/** The text to score: the text parts of the last user turn, joined. */
export function promptText(messages: readonly ScoredMessage[]): string {
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i];
    if (message?.role === 'user') return textOf(message.content);
  }
  return '';
}

/** The text of a message's content, which is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(textOfPart).filter(Boolean).join('\n');
}

function textOfPart(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part !== 'object' || part === null || !('text' in part)) return '';
  return typeof part.text === 'string' ? part.text : '';
}

/**
 * The weights are set by hand and rounded. They were tested on public benchmark results but not fitted to them. Length,
 * conditions, negations, enumerations and compared quantities make a request hard; figures without text don't. Small
 * models do writing tasks well. Code and mathematics need the strong tier at any length. Multiple choice is easier than
 * a free answer.
 */
const TECHNICAL_LEVEL = 3.5;
const TECHNICAL_PULL = 0.6;
const CHOICE_RELIEF = 0.8;
/** The `z` of an average prompt, which scores 0.5. */
const CENTRE = 2.7;

function scoreCounts(counts: Scan): TierScore {
  const choice = counts.options >= 2;
  const code = choice ? 0 : Math.min(1, (1.5 * counts.code) / 2);
  const technical = choice ? 0 : Math.min(1, code + mathsMarks(counts) / 2);
  // `if`, `not` and commas in code are syntax, not a person's conditions.
  const prose = proseEffort(counts) + (choice ? 0 : comparedEffort(counts));
  const effort = 0.5 * Math.log1p(counts.words) + (1 - code) * prose;
  const z = effort + technical * TECHNICAL_PULL * (TECHNICAL_LEVEL - effort) - (choice ? CHOICE_RELIEF : 0);
  return {
    score: 1 / (1 + Math.exp(CENTRE - z)),
    why: explain(counts, { code, technical, choice }),
  };
}

const mathsMarks = (counts: Scan): number => counts.maths + counts.latex + counts.operators / 2;

function proseEffort(counts: Scan): number {
  const figures = counts.numbers / (counts.words + counts.numbers + 1);
  return (
    0.7 * saturate(counts.condition, 4) +
    0.6 * saturate(counts.negation, 2) +
    0.4 * saturate(counts.commas, 6) -
    1.2 * Math.min(0.3, figures) -
    0.5 * saturate(counts.writing, 1)
  );
}

/** Each comparison of quantities, such as `twice as many as the rest`, adds a step to solve. */
function comparedEffort({ comparison, numbers }: Scan): number {
  return 0.3 * saturate(Math.min(comparison, numbers), 3);
}

/** Grows from 0 towards 1, and is 0.5 at `half`: the tenth comma counts less than the first. */
const saturate = (count: number, half: number): number => count / (count + half);

function explain(counts: Scan, marks: { code: number; technical: number; choice: boolean }): string[] {
  const why: string[] = [];
  const plain = marks.technical < 0.5;
  if (!plain) why.push(marks.code >= 0.5 ? 'code' : 'maths');
  if (plain && counts.writing > 0) why.push('writing');
  if (counts.condition >= 4 && marks.code < 0.5) why.push('conditions');
  if (marks.choice) why.push('choice');
  if (counts.words < 25) why.push('short');
  else if (counts.words > 150) why.push('long');
  return why;
}
