import { learn } from '../../tiering/learner/learner.ts';
import { type LearnerState, newLearner } from '../../tiering/learner/learner-state.ts';
import type { Prompt } from '../../tiering/prompt.ts';
import { scorePrompt } from '../../tiering/score.ts';
import { usageError } from '../exit.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { outcomeOf } from './learn.ts';
import { promptIn } from './prompt.ts';

/** Limit of prompts that wait for feedback; the oldest are dropped. */
const MAX_PENDING = 10_000;

/** Answers `{"id","messages"}` with `{"id","score"}`. */
export function scorer(learner: LearnerState | undefined): (question: JsonObject) => JsonObject {
  return ({ id, messages, feedback }) => {
    if (feedback !== undefined) throw usageError('feedback requires --online');
    return { id, score: scorePrompt(promptIn(messages, 'the line'), learner).score };
  };
}

/** Like `scorer`, and learns from `{"id","feedback":{"tier","correct"}}`, which gets no answer. Saves no training. */
export function onlineScorer(
  learner: LearnerState = newLearner(),
): (question: JsonObject) => JsonObject | undefined {
  const pending = new Map<unknown, Prompt>();
  return ({ id, messages, feedback }) => {
    if (feedback !== undefined) {
      const prompt = pending.get(id);
      if (!prompt) throw usageError('feedback on a prompt that was not scored, or too long ago');
      learn(learner, { prompt, outcome: outcomeIn(feedback) });
      pending.delete(id);
      return undefined;
    }
    const prompt = promptIn(messages, 'the line');
    pending.set(id, prompt);
    if (pending.size > MAX_PENDING) pending.delete(pending.keys().next().value);
    return { id, score: scorePrompt(prompt, learner).score };
  };
}

function outcomeIn(feedback: unknown): { weak?: number; strong?: number } {
  const fields = (feedback ?? {}) as JsonObject;
  const correct = outcomeOf(fields, 'correct');
  const { tier } = fields;
  if ((tier !== 'weak' && tier !== 'strong') || correct === undefined) {
    throw usageError('feedback must be {"tier":"weak" or "strong","correct":0 to 1}');
  }
  return tier === 'weak' ? { weak: correct } : { strong: correct };
}
