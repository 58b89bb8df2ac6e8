import type { RequestId } from '../../ids.ts';
import type { Tier } from '../../routing/tier.ts';
import { excerpt } from '../../tiering/code-units.ts';
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
}

/** What came of what was said of an answer: its prompt may be remembered no more, or never have been. */
export type Heard = 'learnt' | 'said_before' | 'not_remembered';

interface Remembered {
  lesson: Lesson;
  isTaught: boolean;
  isTold: boolean;
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
    const { project, tier, prompt } = remembered.lesson;
    remembered.isTaught = true;
    learners.teach(project, { prompt, outcome: tier === 'weak' ? { weak: quality } : { strong: quality } });
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
      const remembered = { lesson, isTaught: false, isTold: false };
      lessons.set(lesson.id, remembered);
      lastOf.set(lesson.conversation, lesson.id);
      characters += text.length;
      forgetOldest();
      if (lesson.quality !== undefined) teach(remembered, lesson.quality);
    },
    told(id, quality) {
      const remembered = lessons.get(id);
      if (!remembered) return 'not_remembered';
      if (remembered.isTold) return 'said_before';
      remembered.isTold = true;
      teach(remembered, quality);
      return 'learnt';
    },
  };
}
