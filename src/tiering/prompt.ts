import { features } from './features.ts';
import type { Encoded } from './head.ts';
import { ngramBuckets } from './ngrams.ts';
import { type PriorScore, priorScore } from './prior.ts';
import { promptText, type ScoredMessage } from './prompt-text.ts';
import { type Scan, scan } from './scan.ts';

/** A prompt read once: what every scorer starts from. */
export interface Prompt {
  text: string;
  counts: Scan;
  prior: PriorScore;
}

/** Reads the last user turn of a conversation. */
export function readPrompt(messages: readonly ScoredMessage[]): Prompt {
  const text = promptText(messages);
  const counts = scan(text);
  return { text, counts, prior: priorScore(counts) };
}

/** The prompt as the learnt heads see it; only computed where they are asked. */
export function encode(prompt: Prompt): Encoded {
  return { buckets: ngramBuckets(prompt.text), features: features(prompt.counts, prompt.prior) };
}
