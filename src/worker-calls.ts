import { parentPort, Worker } from 'node:worker_threads';
import { type Clock, systemClock } from './clock.ts';
import { messageOf } from './errors.ts';

/** Work done in a thread of its own, because it takes longer than an event loop may wait. */
export interface WorkerCalls<Request, Answer> {
  /** Rejects if this call fails, or the thread breaks down or is closed before it is done. `moved` is given away. */
  call(request: Request, moved?: readonly ArrayBuffer[]): Promise<Answer>;
  /** How often the thread that runs has answered. */
  readonly answers: number;
  /** Stops a thread that has got stuck; its open calls reject, and the next call starts another. */
  restart(): Promise<void>;
  /** Stops the thread; open and later calls reject. */
  close(): Promise<void>;
}

export interface WorkerCallsOptions {
  /** What it is, for messages: `token counter`. */
  name: string;
  startWorker: () => Worker;
  /** How long the thread, which holds memory, outlives its last call. */
  idleMs?: number;
  clock?: Clock;
}

interface Question<Request> {
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
 * Calls a thread that starts with the first call and stops when it has been idle. If it breaks down, its open calls
 * reject and the next call starts another.
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

  function answer(answering: Session<Answer>, reply: Reply<Answer>): void {
    const { worker, open } = answering;
    answering.answers++;
    const call = open.get(reply.id);
    // The last words of a session that has ended.
    if (!call) return;
    open.delete(reply.id);
    if ('answer' in reply) call.resolve(reply.answer);
    else call.reject(new Error(`the ${name} failed: ${reply.error}`));
    if (open.size > 0) return;
    worker.unref();
    cancelIdle = clock.after(idleMs, () => void stop(`the ${name} was idle`));
  }

  /** Forgets a session, so that the next call starts another, and rejects what it leaves open. */
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
    async call(request, moved = []) {
      if (closed) throw new Error(`the ${name} is closed`);
      cancelIdle();
      session ??= start();
      const { worker, open } = session;
      const question: Question<Request> = { id: ++lastId, request };
      return new Promise((resolve, reject) => {
        open.set(question.id, { resolve, reject });
        worker.ref();
        worker.postMessage(question, moved);
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

/** The thread's side: answers each call in turn. */
export function answerCalls<Request, Answer>(answer: (request: Request) => Answer): void {
  parentPort?.on('message', ({ id, request }: Question<Request>) => {
    parentPort?.postMessage(replyTo(id, () => answer(request)));
  });
}

function replyTo<Answer>(id: number, answer: () => Answer): Reply<Answer> {
  try {
    return { id, answer: answer() };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

const YOUNG_GENERATION_MB = 8;

/**
 * Starts the thread whose file is `path` under `src`. Node 20 runs no TypeScript, and vitest transforms none in a
 * thread: under the sources it is the built file, which `npm test` makes first (`npm run build`).
 */
export function startBuiltWorker(path: string): Worker {
  const root = import.meta.url.endsWith('.ts') ? '../dist/' : './';
  return new Worker(new URL(root + path, import.meta.url), {
    // Without the process's own flags: some, such as --input-type, would stop the worker from starting.
    execArgv: [],
    // A sixth of the default, which a thread that makes much garbage would fill: 25 MB for a twentieth of its time.
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
}
