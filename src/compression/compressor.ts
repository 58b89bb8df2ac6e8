import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import { type CompressedRequest, type CompressRequest, compressRequest } from './compress-request.ts';
import { warmUpConversation } from './warm-up.ts';

/** Compresses conversations: short ones at once, long ones in a thread of their own, one after the other. */
export interface Compressor {
  /** Undefined where it is not done within the time, waiting included. Rejects where it cannot be done. */
  compress(
    request: CompressRequest,
    limitMs: number,
  ): CompressedRequest | Promise<CompressedRequest | undefined>;
  /** Starts the thread ahead of its first call. */
  warmUp(): void;
  close(): Promise<void>;
}

export interface CompressorOptions {
  clock?: Clock;
  startWorker?: () => Worker;
  /** Tells whoever reads the log. */
  warn?: (message: string) => void;
}

/**
 * Up to this many bytes it is done at once: that keeps the event loop for less than half a millisecond, and the way
 * to the thread and back takes as long. Twice as many would be felt by the requests beside it.
 */
const MAX_AT_ONCE = 4 * 1024;
/** What a thread that starts, or has yet to compile what it runs, may add to the time of a call. */
const START_MS = 1_000;
/** From so many answers on it is warm. */
const WARM_ANSWERS = 4;
/** A call that takes this much longer than it may has got stuck; until then the rest of its work serves the next turn. */
const STUCK_MS = 2_000;
/** On a machine with much to do a thread takes its time to start, and would never get warm if it were stopped for that. */
const STUCK_COLD_MS = 30_000;
/** An agent may think for minutes between two turns, and the thread remembers what it has compressed. */
const IDLE_MS = 10 * 60_000;

interface Waiting {
  request: CompressRequest & { bytes: Uint8Array<ArrayBuffer> };
  limitMs: number;
  resolve(answer: CompressedRequest | undefined): void;
  reject(error: unknown): void;
}

export function createCompressor(options: CompressorOptions = {}): Compressor {
  const { clock = systemClock, startWorker = startOptimizer, warn = () => {} } = options;
  const calls = createWorkerCalls<CompressRequest, CompressedRequest>({
    name: 'optimizer',
    startWorker,
    idleMs: IDLE_MS,
    clock,
  });
  // They wait here and not in the thread, so that what comes too late is not even begun.
  const waiting: Waiting[] = [];
  let busy = false;
  const isWarm = () => calls.answers >= WARM_ANSWERS;

  async function workOff(): Promise<void> {
    if (busy) return;
    busy = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { request, limitMs, resolve, reject } = next;
      const { length, buffer } = request.bytes;
      const cancel = clock.after(limitMs + (isWarm() ? STUCK_MS : STUCK_COLD_MS), () => {
        warn(`the optimizer was stuck on a prompt of ${length} bytes and is started anew`);
        void calls.restart();
      });
      await calls.call(request, [buffer]).then(resolve, reject);
      cancel();
    }
    busy = false;
  }

  function inThread(request: CompressRequest, limitMs: number): Promise<CompressedRequest | undefined> {
    // A copy to be given away: what is posted takes the whole memory along that it is a view of.
    const bytes = new Uint8Array(request.bytes);
    return new Promise((resolve, reject) => {
      const call: Waiting = {
        request: { ...request, bytes },
        limitMs,
        resolve: end(resolve),
        reject: end(reject),
      };
      const cancel = clock.after(isWarm() ? limitMs : limitMs + START_MS, () => {
        const place = waiting.indexOf(call);
        if (place >= 0) waiting.splice(place, 1);
        resolve(undefined);
      });
      function end<T>(callback: (value: T) => void): (value: T) => void {
        return (value) => {
          cancel();
          callback(value);
        };
      }
      waiting.push(call);
      void workOff();
    });
  }

  return {
    compress: (request, limitMs) =>
      request.bytes.length <= MAX_AT_ONCE ? compressRequest(request) : inThread(request, limitMs),
    warmUp() {
      if (calls.answers > 0 || busy) return;
      inThread({ bytes: Buffer.from(warmUpConversation()), form: 'chat', level: 'safe' }, START_MS).catch(
        (error) => warn(`the optimizer did not start: ${messageOf(error)}`),
      );
    },
    close: () => calls.close(),
  };
}

function startOptimizer(): Worker {
  return startBuiltWorker('compression/worker.js');
}
