import { sharedLength } from '../json/shared-length.ts';
import type { CompressedRequest } from './compress-request.ts';

/** What the last prompt of each conversation was compressed to: a client that repeats one need not wait for the thread. */
export interface LastAnswers {
  find(key: string, prompt: Buffer): CompressedRequest | undefined;
  keep(key: string, prompt: Buffer, answer: CompressedRequest): void;
}

const MAX_BYTES = 8 * 1024 * 1024;

/** Keeps 8 MB of prompts, those that were used last. */
export function createLastAnswers(): LastAnswers {
  const kept = new Map<string, { prompt: Buffer; answer: CompressedRequest }>();
  let size = 0;

  function drop(key: string): void {
    size -= kept.get(key)?.prompt.length ?? 0;
    kept.delete(key);
  }

  function keep(key: string, prompt: Buffer, answer: CompressedRequest): void {
    drop(key);
    kept.set(key, { prompt, answer });
    size += prompt.length;
    for (const oldest of kept.keys()) {
      if (size <= MAX_BYTES) return;
      drop(oldest);
    }
  }

  return {
    find(key, prompt) {
      const last = kept.get(key);
      const isSame =
        last?.prompt.length === prompt.length && sharedLength(last.prompt, prompt) === prompt.length;
      if (!isSame) return undefined;
      keep(key, last.prompt, last.answer);
      return last.answer;
    },
    keep,
  };
}
