import type { Worker } from 'node:worker_threads';
import type { Clock } from '../clock.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import type { Encoding } from './encoding.ts';
import type { CountRequest } from './worker.ts';

export interface TokenCounter {
  /** The exact number of tokens of all texts together; rejects if they can't be counted. */
  count(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** Stops the worker; open and later counts reject. */
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  /** How long the worker, which holds some 20 MB, outlives its last count. */
  idleMs?: number;
  clock?: Clock;
  startWorker?: () => Worker;
}

/** Counts tokens in a worker thread. */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const { startWorker = startTokenWorker, ...rest } = options;
  const calls = createWorkerCalls<CountRequest, number>({ name: 'token counter', startWorker, ...rest });
  return {
    count: (texts, encoding) => calls.call({ texts, encoding }),
    close: () => calls.close(),
  };
}

export function startTokenWorker(): Worker {
  return startBuiltWorker('tokens/worker.js');
}
