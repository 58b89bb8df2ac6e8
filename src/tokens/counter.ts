import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import type { Encoding } from './encoding.ts';
import type { CountRequest } from './worker.ts';

export interface TokenCounter {
  /** The exact number of tokens of all texts together; rejects if they can't be counted. */
  count(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** The same for who is in no hurry: all that is asked for within 10 ms goes to the worker in one message. */
  countSoon(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** Stops the worker; open and later counts reject. */
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  /** How long the worker, which holds some 20 MB, outlives its last count. */
  idleMs?: number;
  clock?: Clock;
  startWorker?: () => Worker;
}

/** A message there and back costs as much as to count 500 tokens. */
const GATHER_MS = 10;

/** Counts tokens in a worker thread. */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const { startWorker = startTokenWorker, clock = systemClock, idleMs } = options;
  const calls = createWorkerCalls<readonly CountRequest[], number[]>({
    name: 'token counter',
    startWorker,
    clock,
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  let gathered: CountRequest[] = [];
  let counts: Promise<number[]> | undefined;

  function gather(): Promise<number[]> {
    return new Promise((resolve) => {
      clock.after(GATHER_MS, () => {
        resolve(calls.call(gathered));
        gathered = [];
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
      counts ??= gather();
      const place = gathered.push({ texts, encoding }) - 1;
      return (await counts)[place] ?? 0;
    },
    close: () => calls.close(),
  };
}

export function startTokenWorker(): Worker {
  return startBuiltWorker('tokens/worker.js');
}
