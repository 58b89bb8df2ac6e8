import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import type { Encoding } from './encoding.ts';
import type { CountRequest } from './worker.ts';

export interface TokenCounter {
  /** The exact number of tokens of all texts together. Rejects if they can't be counted. */
  count(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** Like `count`, but batches the calls of 10 ms into one message to the worker. */
  countSoon(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** Stops the worker. Pending and later counts reject. */
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  /** How long the worker, which holds some 20 MB, is kept after its last count. */
  idleMs?: number;
  clock?: Clock;
  startWorker?: () => Worker;
}

/** A message round trip costs as much as counting 500 tokens. */
const BATCH_MS = 10;

/** Counts tokens in a worker thread. */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const { startWorker = startTokenWorker, clock = systemClock, idleMs } = options;
  const calls = createWorkerCalls<readonly CountRequest[], number[]>({
    name: 'token counter',
    startWorker,
    clock,
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  let batch: CountRequest[] = [];
  let counts: Promise<number[]> | undefined;

  function countBatch(): Promise<number[]> {
    return new Promise((resolve) => {
      clock.after(BATCH_MS, () => {
        resolve(calls.call(batch));
        batch = [];
        counts = undefined;
      });
    });
  }

  return {
    async count(texts, encoding) {
      const [tokens = 0] = await calls.call([{ texts, encoding }]);
      return tokens;
    },
    async countSoon(texts, encoding) {
      counts ??= countBatch();
      const index = batch.push({ texts, encoding }) - 1;
      return (await counts)[index] ?? 0;
    },
    close: () => calls.close(),
  };
}

export const startTokenWorker = (): Worker => startBuiltWorker('tokens-worker');
