import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';

/** A thread that answers when the test says so. */
export class ScriptedWorker extends EventEmitter {
  /** What it was asked and has not answered, in order. */
  readonly open: { id: number; request: unknown }[] = [];
  stopped = false;

  postMessage(question: { id: number; request: unknown }): void {
    this.open.push(question);
  }

  /** Answers what it was asked first. */
  answer(answer: unknown): void {
    this.emit('message', { id: this.open.shift()?.id, answer });
  }

  async terminate(): Promise<number> {
    this.stopped = true;
    return 1;
  }

  ref(): void {}
  unref(): void {}
}

/** Starts scripted threads where real ones would be, and keeps them. */
export function scriptedWorkers(): { workers: ScriptedWorker[]; startWorker: () => Worker } {
  const workers: ScriptedWorker[] = [];
  return {
    workers,
    startWorker() {
      const worker = new ScriptedWorker();
      workers.push(worker);
      // It has of a Worker what is made use of.
      return worker as unknown as Worker;
    },
  };
}
