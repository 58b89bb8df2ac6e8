import { parentPort, Worker } from 'node:worker_threads';
import { type Clock, systemClock } from './clock.ts';
import { messageOf } from './errors.ts';
import { PACKAGE } from './version.ts';

/** Calls to a worker thread, for work that would block the event loop for too long. */
export interface WorkerCalls<Request, Answer> {
  /** Rejects if the call fails, or the thread crashes or is closed first. `transfer` lists buffers to transfer. */
  call(request: Request, transfer?: readonly ArrayBuffer[]): Promise<Answer>;
  /** Number of answers from the current thread. */
  readonly answers: number;
  /** Stops a thread that hangs. Its open calls reject, and the next call starts another thread. */
  restart(): Promise<void>;
  /** Stops the thread. Open and later calls reject. */
  close(): Promise<void>;
}

export interface WorkerCallsOptions {
  /** Name in error messages, such as `token counter`. */
  name: string;
  startWorker: () => Worker;
  /** Time until an idle thread is stopped; it holds memory. */
  idleMs?: number;
  clock?: Clock;
}

interface Call<Request> {
  id: number;
  request: Request;
}

type Reply<Answer> = { id: number; answer: Answer } | { id: number; error: string };

interface OpenCall<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

interface Session<Answer> {
  worker: Worker;
  open: Map<number, OpenCall<Answer>>;
  answers: number;
}

/**
 * The thread starts with the first call and stops after `idleMs` without calls. If it crashes, its open calls reject
 * and the next call starts another thread.
 */
export function createWorkerCalls<Request, Answer>(
  options: WorkerCallsOptions,
): WorkerCalls<Request, Answer> {
  const { name, startWorker, idleMs = 60_000, clock = systemClock } = options;
  let session: Session<Answer> | undefined;
  let closed = false;
  let lastId = 0;
  let cancelIdle = () => {};

  function start(): Session<Answer> {
    const started: Session<Answer> = { worker: startWorker(), open: new Map(), answers: 0 };
    started.worker.on('message', (reply: Reply<Answer>) => answer(started, reply));
    started.worker.on('error', (cause) =>
      end(started, new Error(`the ${name} stopped: ${messageOf(cause)}`, { cause })),
    );
    started.worker.on('exit', (code) => end(started, new Error(`the ${name} stopped (exit code ${code})`)));
    return started;
  }

  function answer(source: Session<Answer>, reply: Reply<Answer>): void {
    const { worker, open } = source;
    source.answers++;
    const call = open.get(reply.id);
    // A late reply of an ended session.
    if (!call) return;
    open.delete(reply.id);
    if ('answer' in reply) call.resolve(reply.answer);
    else call.reject(new Error(`the ${name} failed: ${reply.error}`));
    if (open.size > 0) return;
    worker.unref();
    cancelIdle = clock.after(idleMs, () => void stop(`the ${name} was idle`));
  }

  /** Ends a session and rejects its open calls. The next call starts another session. */
  function end(ended: Session<Answer>, reason: Error): void {
    if (session === ended) session = undefined;
    for (const call of ended.open.values()) call.reject(reason);
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
    async call(request, transfer = []) {
      if (closed) throw new Error(`the ${name} is closed`);
      cancelIdle();
      session ??= start();
      const { worker, open } = session;
      const call: Call<Request> = { id: ++lastId, request };
      return new Promise((resolve, reject) => {
        open.set(call.id, { resolve, reject });
        worker.ref();
        worker.postMessage(call, transfer);
      });
    },
    get answers() {
      return session?.answers ?? 0;
    },
    restart: () => stop(`the ${name} was stopped`),
    async close() {
      closed = true;
      await stop(`the ${name} is closed`);
    },
  };
}

/** The worker's side: answers the calls, in order where `answer` waits for nothing. */
export function answerCalls<Request, Answer>(answer: (request: Request) => Answer | Promise<Answer>): void {
  parentPort?.on('message', async ({ id, request }: Call<Request>) => {
    parentPort?.postMessage(await replyTo(id, () => answer(request)));
  });
}

async function replyTo<Answer>(id: number, answer: () => Answer | Promise<Answer>): Promise<Reply<Answer>> {
  try {
    return { id, answer: await answer() };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

/** The bundle's worker threads; `build.ts` maps them to files. */
export type BuiltWorker =
  | 'attribution-worker'
  | 'checkpoints-worker'
  | 'compression-worker'
  | 'reports-worker'
  | 'scan-worker'
  | 'tokens-worker'
  | 'unzstd-worker';

const YOUNG_GENERATION_MB = 8;

/**
 * Starts a worker thread from the bundle, also in tests, which run the sources: Node 20 can't run TypeScript, and
 * vitest doesn't transform files in worker threads.
 */
export function startBuiltWorker(name: BuiltWorker): Worker {
  return new Worker(new URL(`dist/bundle/${name}.js`, PACKAGE), {
    // The process's own flags are not inherited: some, such as --input-type, prevent the worker from starting.
    execArgv: [],
    // A sixth of the default, which a thread with much garbage would fill. Saves 25 MB, costs 5 % more time.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}
