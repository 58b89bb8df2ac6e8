import type { RequestId } from '../../ids.ts';
import type { Tier } from '../../routing/tier.ts';
import { excerpt } from '../../tiering/code-units.ts';
import type { Outcome } from '../../tiering/heads.ts';
import type { Prompt } from '../../tiering/prompt.ts';
import type { Learners } from './learner-store.ts';

/** A request that was answered by one of two tiers, to learn from. */
export interface Lesson {
  id: RequestId;
  project: string;
  tier: Tier;
  prompt: Prompt;
  conversation: string;
  /** How many turns its conversation had. */
  turns: number;
  /** How good the answer looks from outside, in [0,1]. */
  quality: number | undefined;
}

/** What answers were worth, as far as it shows: it teaches the projects' heads, and no request waits for it. */
export interface Lessons {
  answered(lesson: Lesson): void;
  /** What somebody says of an answer, in [0,1]. */
  told(id: RequestId, quality: number): Heard;
  /** The other tier was asked too. */
  paired(id: RequestId, pair: Pair): void;
}

/** What came of what was said of an answer: its prompt may be remembered no more, or never have been. */
export type Heard = 'learnt' | 'said_before' | 'not_remembered';

/** How the other tier answered. */
export interface Pair {
  tier: Tier;
  /** Whether it said the same; undefined where that can't be told. */
  agrees: boolean | undefined;
  /** How good its answer looks from outside. */
  quality: number | undefined;
}

interface Remembered {
  lesson: Lesson;
  isTaught: boolean;
  /** What was said of it. */
  told: number | undefined;
  pair: Pair | undefined;
}

const MOST_REMEMBERED = 5_000;
const MOST_CHARACTERS = 4_000_000;
/** A conversation that goes on was not given up; that its last answer was good is likely, and no more. */
const WENT_ON = 0.8;

export function createLessons(learners: Pick<Learners, 'teach'>): Lessons {
  // In the order of their answers.
  const lessons = new Map<RequestId, Remembered>();
  const lastOf = new Map<string, RequestId>();
  let characters = 0;

  function teach(remembered: Remembered, quality: number): void {
    remembered.isTaught = true;
    teachOutcome(remembered, outcomeOf(remembered.lesson.tier, quality));
  }

  function teachOutcome({ lesson: { project, prompt } }: Remembered, outcome: Outcome): void {
    learners.teach(project, { prompt, outcome });
  }

  /** What was said of one answer, and what that says of the other tier's. */
  function teachTold(remembered: Remembered, told: number): void {
    const { lesson, pair } = remembered;
    remembered.isTaught = true;
    const other = pair && qualityOfOther(pair, told);
    const outcome = outcomeOf(lesson.tier, told);
    teachOutcome(
      remembered,
      pair && other !== undefined ? { ...outcome, ...outcomeOf(pair.tier, other) } : outcome,
    );
  }

  /** What a request says of the answer before it: that was asked for once more, or went on with. */
  function judgeLast({ conversation, turns, prompt }: Lesson): void {
    const id = lastOf.get(conversation);
    const last = id === undefined ? undefined : lessons.get(id);
    if (!last || last.isTaught) return;
    const isSame = last.lesson.turns === turns && last.lesson.prompt.text === prompt.text;
    if (isSame) teach(last, 0);
    else if (turns > last.lesson.turns) teach(last, WENT_ON);
  }

  function forgetOldest(): void {
    for (const [id, { lesson }] of lessons) {
      if (lessons.size <= MOST_REMEMBERED && characters <= MOST_CHARACTERS) return;
      lessons.delete(id);
      characters -= lesson.prompt.text.length;
      if (lastOf.get(lesson.conversation) === id) lastOf.delete(lesson.conversation);
    }
  }

  return {
    answered(answered) {
      const text = excerpt(answered.prompt.text);
      const lesson = { ...answered, prompt: { ...answered.prompt, text } };
      judgeLast(lesson);
      const remembered = { lesson, isTaught: false, told: undefined, pair: undefined };
      lessons.set(lesson.id, remembered);
      lastOf.set(lesson.conversation, lesson.id);
      characters += text.length;
      forgetOldest();
      if (lesson.quality !== undefined) teach(remembered, lesson.quality);
    },
    told(id, quality) {
      const remembered = lessons.get(id);
      if (!remembered) return 'not_remembered';
      if (remembered.told !== undefined) return 'said_before';
      remembered.told = quality;
      teachTold(remembered, quality);
      return 'learnt';
    },
    paired(id, pair) {
      const remembered = lessons.get(id);
      if (!remembered) return;
      remembered.pair = pair;
      if (pair.quality !== undefined) teachOutcome(remembered, outcomeOf(pair.tier, pair.quality));
      if (remembered.told !== undefined) teachTold(remembered, remembered.told);
    },
  };
}

function outcomeOf(tier: Tier, quality: number): Outcome {
  return tier === 'weak' ? { weak: quality } : { strong: quality };
}

/**
 * That two answers differ does not tell which of them is right: taken for a fault of the cheaper tier it taught heads to
 * rank worse than the prior does, when measured. What somebody says of one answer holds for one that says the same; and
 * where the one is right, another is not. Of two that differ the second may be right or not where the first is wrong.
 */
function qualityOfOther({ agrees }: Pair, told: number): number | undefined {
  if (agrees) return told;
  return agrees === false && told > 0.5 ? (1 - told) / 2 : undefined;
}
