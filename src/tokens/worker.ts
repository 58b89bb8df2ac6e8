import { answerCalls } from '../worker-calls.ts';
import { countTokens } from './count.ts';
import type { Encoding } from './encoding.ts';

export interface CountRequest {
  texts: readonly string[];
  encoding: Encoding;
}

/** The worker thread of `createTokenCounter`. */
answerCalls((requests: readonly CountRequest[]): number[] =>
  requests.map(({ texts, encoding }) =>
    texts.reduce((tokens, text) => tokens + countTokens(text, encoding), 0),
  ),
);
