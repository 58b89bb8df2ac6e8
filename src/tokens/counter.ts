import { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Encoding } from './encoding.ts';
import type { CountAnswer, CountRequest } from './worker.ts';

export interface TokenCounter {
  /** The exact number of tokens of all texts together; rejects if they can't be counted. */
  count(texts: readonly string[], encoding: Encoding): Promise<number>;
  /** Stops the worker; open and later counts reject. */
  close(): Promise<void>;
}

export interface TokenCounterOptions {
  /** How long the worker, which holds some 30 MB, outlives its last count. */
  idleMs?: number;
  clock?: Clock;
  startWorker?: () => Worker;
}

interface OpenCount {
  resolve(tokens: number): void;
  reject(error: Error): void;
}

interface Session {
  worker: Worker;
  open: Map<number, OpenCount>;
}

/**
 * Counts tokens in a worker thread, because a large text takes longer than an event loop may wait. The worker starts
 * with the first count and stops when it has been idle; if it breaks down, its open counts reject and the next count
 * starts another.
 */
export function createTokenCounter(options: TokenCounterOptions = {}): TokenCounter {
  const { idleMs = 60_000, clock = systemClock, startWorker = startTokenWorker } = options;
  let session: Session | undefined;
  let closed = false;
  let lastId = 0;
  let cancelIdle = () => {};

  function start(): Session {
    const started: Session = { worker: startWorker(), open: new Map() };
    started.worker.on('message', (answer: CountAnswer) => settle(started, answer));
    started.worker.on('error', (cause) =>
      end(started, new Error(`${STOPPED}: ${messageOf(cause)}`, { cause })),
    );
    started.worker.on('exit', (code) => end(started, new Error(`${STOPPED} (exit code ${code})`)));
    return started;
  }

  function settle({ worker, open }: Session, answer: CountAnswer): void {
    const count = open.get(answer.id);
    // The last words of a session that has ended.
    if (!count) return;
    open.delete(answer.id);
    if ('tokens' in answer) count.resolve(answer.tokens);
    else count.reject(new Error(`could not count tokens: ${answer.error}`));
    if (open.size > 0) return;
    worker.unref();
    cancelIdle = clock.after(idleMs, () => void stop('the token counter was idle'));
  }

  /** Forgets a session, so that the next count starts another, and rejects what it leaves open. */
  function end(ended: Session, reason: Error): void {
    if (session === ended) session = undefined;
    for (const count of ended.open.values()) count.reject(reason);
    ended.open.clear();
  }

  async function stop(reason: string): Promise<void> {
    cancelIdle();
    const stopped = session;
    if (!stopped) return;
    end(stopped, new Error(reason));
    await stopped.worker.terminate();
  }

  return {
    async count(texts, encoding) {
      if (closed) throw new Error(CLOSED);
      cancelIdle();
      session ??= start();
      const { worker, open } = session;
      const request: CountRequest = { id: ++lastId, texts, encoding };
      return new Promise((resolve, reject) => {
        open.set(request.id, { resolve, reject });
        worker.ref();
        worker.postMessage(request);
      });
    },
    async close() {
      closed = true;
      await stop(CLOSED);
    },
  };
}

const CLOSED = 'the token counter is closed';
const STOPPED = 'the token counter stopped';

/**
 * Node 20 runs no TypeScript, and vitest transforms none in a thread: under the sources the worker is the built one,
 * which `npm test` makes first (`npm run build`).
 */
export function startTokenWorker(): Worker {
  const file = import.meta.url.endsWith('.ts') ? '../../dist/tokens/worker.js' : './worker.js';
  // Without the process's own flags: some, such as --input-type, would stop the worker from starting.
  return new Worker(new URL(file, import.meta.url), { execArgv: [] });
}
