import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import { asBuffer, sharedLength } from '../json/bytes.ts';
import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import { type CompressedRequest, type CompressRequest, compressRequest } from './compress-request.ts';
import { createDecisions, createKeys } from './decisions.ts';

/**
 * Compresses short conversations synchronously, and long ones in a worker thread, one at a time. A conversation is sent
 * compressed or as it is from its first long turn to its last: a prompt whose beginning changes between two turns is not
 * found in the provider's cache, which costs more than compression saves.
 */
export interface Compressor {
  /**
   * Resolves to undefined after `limitMs`, queueing included, unless an earlier turn went out compressed; and for all
   * turns after one that was too late. Rejects if the request cannot be compressed.
   */
  compress(
    request: CompressRequest,
    limitMs: number,
  ): CompressedRequest | undefined | Promise<CompressedRequest | undefined>;
  /** Starts the thread before its first call. */
  warmUp(): void;
  close(): Promise<void>;
}

interface CompressorOptions {
  clock?: Clock;
  startWorker?: () => Worker;
  /** Writes to the log. */
  warn?: (message: string) => void;
}

/**
 * Up to this many bytes are compressed synchronously. That blocks the event loop for less than 0.5 ms, about as long
 * as the round trip to the thread. Twice as many would delay concurrent requests.
 */
const MAX_AT_ONCE = 4 * 1024;
/** Extra time for a call while the thread starts or its code is not compiled yet. */
const START_MS = 1_000;
/** The thread counts as warm after this many answers. */
const WARM_ANSWERS = 4;
/** A call this far past its limit is stuck. Until then it may finish: the next turn reuses its result. */
const STUCK_MS = 2_000;
/** On a busy machine a thread starts slowly, and would never get warm if it were restarted for that. */
const STUCK_COLD_MS = 30_000;
/** An agent may pause for minutes between turns, and the thread caches what it has compressed. */
const IDLE_MS = 10 * 60_000;

interface Waiting {
  request: CompressRequest;
  /** Of its conversation, for `decisions`. */
  key: string;
  limitMs: number;
  resolve(answer: CompressedRequest | undefined): void;
  reject(error: unknown): void;
}

export function createCompressor(options: CompressorOptions = {}): Compressor {
  const { clock = systemClock, warn = () => {} } = options;
  const calls = createWorkerCalls<CompressRequest, CompressedRequest>({
    name: 'optimizer',
    startWorker: options.startWorker ?? (() => startBuiltWorker('compression-worker')),
    idleMs: IDLE_MS,
    clock,
  });
  const keyOf = createKeys();
  const decisions = createDecisions();
  const lastAnswers = createLastAnswers();
  const isWarm = () => calls.answers >= WARM_ANSWERS;
  const queue = createQueue(async ({ request, key, limitMs, resolve, reject }) => {
    const { bytes } = request;
    // It came while another of the same was at work.
    const same = lastAnswers.find(key, asBuffer(bytes));
    if (same) return resolve(same);
    const { buffer, length } = bytes;
    const mayGiveUp = isWarm() && decisions.get(key) !== 'compressed';
    const cancel = clock.after(limitMs + (mayGiveUp ? STUCK_MS : STUCK_COLD_MS), () => {
      warn(`the optimizer was stuck on a prompt of ${length} bytes and is started anew`);
      void calls.restart();
    });
    await calls.call(request, buffer instanceof SharedArrayBuffer ? [] : [buffer]).then(resolve, reject);
    cancel();
  });

  /** Keeps to what was decided while the call ran, or decides. */
  function settle(key: string, answer: CompressedRequest | undefined): CompressedRequest | undefined {
    if (decisions.get(key) === 'original') return undefined;
    // Until an edit is sent, both decisions are open.
    if (answer === undefined) decisions.set(key, 'original');
    else if (answer.edits.length > 0) decisions.set(key, 'compressed');
    return answer;
  }

  function inThread(
    request: CompressRequest,
    key: string,
    limitMs: number,
  ): Promise<CompressedRequest | undefined> {
    // A copy of what is not shared, because transferring a view transfers its whole ArrayBuffer.
    const { bytes: given } = request;
    const bytes = given.buffer instanceof SharedArrayBuffer ? given : new Uint8Array(given);
    return new Promise((resolve, reject) => {
      const call: Waiting = {
        request: { ...request, bytes },
        key,
        limitMs,
        resolve: end((answer) => {
          if (answer) lastAnswers.keep(key, asBuffer(given), answer);
          resolve(settle(key, answer));
        }),
        reject: end((error) => {
          decisions.set(key, 'original');
          reject(error);
        }),
      };
      const cancel = clock.after(isWarm() ? limitMs : limitMs + START_MS, () => {
        if (decisions.get(key) === 'compressed') return;
        queue.remove(call);
        resolve(settle(key, undefined));
      });
      function end<T>(callback: (value: T) => void): (value: T) => void {
        return (value) => {
          cancel();
          callback(value);
        };
      }
      queue.add(call);
    });
  }

  return {
    compress(request, limitMs) {
      const key = keyOf(request);
      if (decisions.get(key) === 'original') return undefined;
      if (request.bytes.length <= MAX_AT_ONCE) return settle(key, compressRequest(request));
      const same = lastAnswers.find(key, asBuffer(request.bytes));
      return same ? settle(key, same) : inThread(request, key, limitMs);
    },
    warmUp() {
      if (calls.answers > 0 || queue.isBusy()) return;
      const bytes = Buffer.from(warmUpConversation());
      inThread({ bytes, form: 'chat', level: 'safe' }, 'warm-up', START_MS).catch((error) =>
        warn(`the optimizer did not start: ${messageOf(error)}`),
      );
    },
    close: () => calls.close(),
  };
}

/** Works off calls one at a time: they queue here, not in the thread, so that an expired one is never started. */
function createQueue(work: (call: Waiting) => Promise<void>) {
  const waiting: Waiting[] = [];
  let busy = false;

  async function workOff(): Promise<void> {
    if (busy) return;
    busy = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) await work(next);
    busy = false;
  }

  return {
    isBusy: () => busy,
    add(call: Waiting): void {
      waiting.push(call);
      void workOff();
    },
    /** Does nothing to one that has begun. */
    remove(call: Waiting): void {
      const place = waiting.indexOf(call);
      if (place >= 0) waiting.splice(place, 1);
    },
  };
}

const MAX_BYTES = 8 * 1024 * 1024;

/**
 * The last prompt of each conversation and its compressed form: a client that repeats one need not wait for the thread.
 * Keeps the 8 MB of prompts that were used last.
 */
function createLastAnswers() {
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
    find(key: string, prompt: Buffer): CompressedRequest | undefined {
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

/**
 * A conversation with every kind of content, as JSON. Compressing it loads and compiles the code of a thread before
 * the first prompt.
 */
function warmUpConversation(): string {
  return JSON.stringify([
    {
      role: 'user',
      content: `Which of these failed?\n${lines(80, (i) => `Paragraph ${i} says a few plain words.`)}`,
    },
    ...result(
      'rows',
      JSON.stringify(Array.from({ length: 120 }, (_, id) => ({ id, name: `item ${id}`, ok: id % 3 > 0 }))),
    ),
    ...result(
      'log',
      lines(160, (i) => `2026-01-01T00:00:${10 + (i % 50)}Z INFO worker-${i % 7} took job ${i * 37}`),
    ),
    ...[9, 8].flatMap((kinds) =>
      result(
        'file',
        lines(160, (i) => `${i}\texport const value${i} = compute(${i % kinds}); // line ${i}`),
      ),
    ),
  ]);
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('\n');
}

function result(name: string, content: string): object[] {
  const id = `call_${name}_${content.length}`;
  return [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ];
}
