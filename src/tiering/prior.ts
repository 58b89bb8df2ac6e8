import type { Scan } from './scan.ts';

/** How much a prompt needs the strong tier, before anything was learnt, and the words that explain it. */
export interface PriorScore {
  /** In [0,1]. */
  score: number;
  /** The unbounded value behind `score`. */
  z: number;
  why: string[];
}

/**
 * The weights are set by hand and rounded: tried out against public benchmark results, fitted to none. They say:
 * much to read, conditions, negations, enumerations and quantities that are compared make a request hard, figures
 * without text do not; writing tasks are done well by small models; code and mathematics need the strong tier
 * whatever their length; choosing among given answers is easier than producing one.
 */
const TECHNICAL_LEVEL = 3.5;
const TECHNICAL_PULL = 0.6;
const CHOICE_RELIEF = 0.8;
/** The value of a middling prompt, which scores a half. */
export const PRIOR_CENTRE = 2.7;

/** Scores the counts of a prompt with hand-set weights. */
export function priorScore(counts: Scan): PriorScore {
  const choice = counts.options >= 2;
  const code = choice ? 0 : Math.min(1, (1.5 * counts.code) / 2);
  const technical = choice ? 0 : Math.min(1, code + mathsMarks(counts) / 2);
  // The `if`, `not` and commas of code are no conditions that a person set.
  const prose = proseEffort(counts) + (choice ? 0 : comparedEffort(counts));
  const effort = 0.5 * Math.log1p(counts.words) + (1 - code) * prose;
  const z = effort + technical * TECHNICAL_PULL * (TECHNICAL_LEVEL - effort) - (choice ? CHOICE_RELIEF : 0);
  return {
    score: 1 / (1 + Math.exp(PRIOR_CENTRE - z)),
    z,
    why: explain(counts, { code, technical, choice }),
  };
}

function mathsMarks(counts: Scan): number {
  return counts.maths + counts.latex + counts.operators / 2;
}

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

/** `Twice as many as the rest`: each takes a step of its own. */
function comparedEffort({ comparison, numbers }: Scan): number {
  return 0.3 * saturate(Math.min(comparison, numbers), 3);
}

/** Grows from 0 to 1, and is a half at `half`: the tenth comma says less than the first. */
export function saturate(count: number, half: number): number {
  return count / (count + half);
}

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
