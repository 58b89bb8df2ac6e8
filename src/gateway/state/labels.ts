import type { RequestId } from '../../ids.ts';
import type { Tier } from '../../routing/tier.ts';
import { excerpt } from '../../tiering/code-units.ts';
import type { Prompt } from '../../tiering/prompt.ts';
import type { Learners } from './learners.ts';

/** A request that was served by one of two tiers, as a training example. */
export interface LabelledRequest {
  id: RequestId;
  project: string;
  tier: Tier;
  prompt: Prompt;
  conversation: string;
  /** Number of turns in the conversation. */
  turns: number;
  /** Quality of the answer in [0,1], as far as the answer itself shows it. */
  quality: number | undefined;
}

/** Collects labels for answered requests and teaches them to the projects' learners, off the request path. */
export interface Labels {
  answered(request: LabelledRequest): void;
  /** Labels an answer with a client's feedback, in [0,1]. */
  feedback(id: RequestId, quality: number): FeedbackResult;
}

/** The effect of feedback. `not_remembered`: the request's prompt was evicted, or was never stored. */
export type FeedbackResult = 'learnt' | 'said_before' | 'not_remembered';

interface Entry {
  request: LabelledRequest;
  isTaught: boolean;
  hasFeedback: boolean;
}

const MAX_ENTRIES = 5_000;
const MAX_CHARACTERS = 4_000_000;
/** Label of an answer that the conversation continued from: probably good, but not certainly. */
const CONTINUED_QUALITY = 0.8;

export function createLabels(learners: Pick<Learners, 'teach'>): Labels {
  // Ordered by time of the answer.
  const entries = new Map<RequestId, Entry>();
  const lastOf = new Map<string, RequestId>();
  let characters = 0;

  function teach(entry: Entry, quality: number): void {
    const { project, tier, prompt } = entry.request;
    entry.isTaught = true;
    learners.teach(project, { prompt, outcome: tier === 'weak' ? { weak: quality } : { strong: quality } });
  }

  /** Labels a conversation's previous answer: bad if the same question is asked again, good if it continues. */
  function labelPrevious({ conversation, turns, prompt }: LabelledRequest): void {
    const id = lastOf.get(conversation);
    const previous = id === undefined ? undefined : entries.get(id);
    if (!previous || previous.isTaught) return;
    const isRepeat = previous.request.turns === turns && previous.request.prompt.text === prompt.text;
    if (isRepeat) teach(previous, 0);
    else if (turns > previous.request.turns) teach(previous, CONTINUED_QUALITY);
  }

  function evictOldest(): void {
    for (const [id, { request }] of entries) {
      if (entries.size <= MAX_ENTRIES && characters <= MAX_CHARACTERS) return;
      entries.delete(id);
      characters -= request.prompt.text.length;
      if (lastOf.get(request.conversation) === id) lastOf.delete(request.conversation);
    }
  }

  return {
    answered(answeredRequest) {
      const text = excerpt(answeredRequest.prompt.text);
      const request = { ...answeredRequest, prompt: { ...answeredRequest.prompt, text } };
      labelPrevious(request);
      const entry = { request, isTaught: false, hasFeedback: false };
      entries.set(request.id, entry);
      lastOf.set(request.conversation, request.id);
      characters += text.length;
      evictOldest();
      if (request.quality !== undefined) teach(entry, request.quality);
    },
    feedback(id, quality) {
      const entry = entries.get(id);
      if (!entry) return 'not_remembered';
      if (entry.hasFeedback) return 'said_before';
      entry.hasFeedback = true;
      teach(entry, quality);
      return 'learnt';
    },
  };
}
