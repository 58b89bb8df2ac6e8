import { learn } from '../../tiering/learner/learner.ts';
import { type LearnerState, newLearner } from '../../tiering/learner/learner-state.ts';
import type { Prompt } from '../../tiering/prompt.ts';
import { scorePrompt } from '../../tiering/score.ts';
import { usageError } from '../exit.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { outcomeOf } from './learn.ts';
import { promptIn } from './prompt.ts';

/** Prompts that are remembered until they are told of; the oldest are forgotten. */
const MAX_OPEN = 10_000;

/** Answers `{"id","messages"}` with `{"id","score"}`. */
export function scorer(learner: LearnerState | undefined): (question: JsonObject) => JsonObject {
  return ({ id, messages, feedback }) => {
    if (feedback !== undefined) throw usageError('feedback requires --online');
    return { id, score: scorePrompt(promptIn(messages, 'the line'), learner).score };
  };
}

/** As `scorer`, learning from `{"id","feedback":{"tier","correct"}}`, which gets no answer. What is learnt is not kept. */
export function onlineScorer(
  learner: LearnerState = newLearner(),
): (question: JsonObject) => JsonObject | undefined {
  const open = new Map<unknown, Prompt>();
  return ({ id, messages, feedback }) => {
    if (feedback !== undefined) {
      const prompt = open.get(id);
      if (!prompt) throw usageError('feedback on a prompt that was not scored, or too long ago');
      learn(learner, { prompt, outcome: outcomeIn(feedback) });
      open.delete(id);
      return undefined;
    }
    const prompt = promptIn(messages, 'the line');
    open.set(id, prompt);
    if (open.size > MAX_OPEN) open.delete(open.keys().next().value);
    return { id, score: scorePrompt(prompt, learner).score };
  };
}

function outcomeIn(feedback: unknown): { weak?: number; strong?: number } {
  const said = (feedback ?? {}) as JsonObject;
  const correct = outcomeOf(said, 'correct');
  const { tier } = said;
  if ((tier !== 'weak' && tier !== 'strong') || correct === undefined) {
    throw usageError('feedback must be {"tier":"weak" or "strong","correct":0 to 1}');
  }
  return tier === 'weak' ? { weak: correct } : { strong: correct };
}
