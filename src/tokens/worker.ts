import { parentPort } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { countTokens } from './count.ts';
import type { Encoding } from './encoding.ts';

export interface CountRequest {
  id: number;
  texts: readonly string[];
  encoding: Encoding;
}

export type CountAnswer = { id: number; tokens: number } | { id: number; error: string };

/** The thread behind `createTokenCounter`: answers each request in turn. */
parentPort?.on('message', (request: CountRequest) => parentPort?.postMessage(answer(request)));

function answer({ id, texts, encoding }: CountRequest): CountAnswer {
  try {
    let tokens = 0;
    for (const text of texts) tokens += countTokens(text, encoding);
    return { id, tokens };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}
