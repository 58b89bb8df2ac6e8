import type { Script } from './scripts.ts';

type Kind = 'film' | 'batch' | 'message batch';

interface MadeJob {
  kind: Kind;
  /** Polls that find it running. */
  left: number;
  /** Whether it comes to anything; if not, it costs nothing. */
  succeeds: boolean;
  output: number;
}

const MODEL = 'gpt-4.1-mini';
export const CLAUDE = 'claude-sonnet-4-5';
const SECONDS = 8;
/** Input tokens of a batch. */
const INPUT = 20;
/** The most output tokens of a batch. */
export const MOST_OUTPUT = 200_000;

/** Requests that start jobs. `file`: the batch of a file that was uploaded before. */
export const FILM = { model: 'mock/sora-2', prompt: 'A cat', seconds: String(SECONDS) };
export const BATCH_LINE = JSON.stringify({
  ...{ custom_id: '1', method: 'POST', url: '/v1/chat/completions' },
  body: { model: MODEL, max_completion_tokens: MOST_OUTPUT, messages: [{ role: 'user', content: 'Hi' }] },
});
export const MESSAGES = {
  requests: [
    {
      custom_id: '1',
      params: { model: CLAUDE, max_tokens: MOST_OUTPUT / 10, messages: [{ role: 'user', content: 'Hi' }] },
    },
  ],
};

/** Dollars per million tokens of a batch: half the list price. */
const PRICES = { batch: [0.2, 0.8], 'message batch': [1.5, 7.5] } as const;

/** A provider of films and batches, which remembers what it bills for each. */
export class JobProvider {
  readonly jobs = new Map<string, MadeJob>();
  readonly #random: (below: number) => number;

  constructor(random: (below: number) => number) {
    this.#random = random;
  }

  /** Nano-dollars that it bills for a job. */
  billOf(id: string): number {
    const job = this.jobs.get(id);
    if (!job?.succeeds) return 0;
    if (job.kind === 'film') return SECONDS * 100_000_000;
    const [input, output] = PRICES[job.kind];
    return Math.ceil((INPUT * input + job.output * output) * 1_000 - 1e-6);
  }

  readonly script: Script = async (exchange) => {
    const { method, path } = exchange.request;
    await exchange.body;
    const text = this.#answer(method, path);
    const isResults = path.endsWith('/results');
    const type = isResults ? 'application/x-jsonl' : 'application/json';
    await exchange.send(200, { 'content-type': type }, text);
  };

  #answer(method: string, path: string): string {
    if (path === '/v1/files')
      return JSON.stringify({ id: `file-${this.#random(1e9)}`, object: 'file', purpose: 'batch' });
    if (method === 'POST') return this.#make(path);
    const id = /[a-z]+_\d+/.exec(path)?.[0] ?? '';
    const job = this.jobs.get(id);
    if (!job) throw new Error(`there is no ${path}`);
    return path.endsWith('/results') ? this.#results(job) : this.#poll(id, job);
  }

  #make(path: string): string {
    const kind = path === '/v1/videos' ? 'film' : path === '/v1/batches' ? 'batch' : 'message batch';
    const id = `${kind.replace(' ', '')}_${this.jobs.size}`;
    const most = kind === 'batch' ? MOST_OUTPUT : MOST_OUTPUT / 10;
    this.jobs.set(id, {
      ...{ kind, left: this.#random(3), succeeds: this.#random(4) > 0 },
      output: 1 + this.#random(most),
    });
    const state = kind === 'message batch' ? { processing_status: 'in_progress' } : { status: 'queued' };
    return JSON.stringify({ id, ...state });
  }

  #poll(id: string, job: MadeJob): string {
    const { kind, succeeds, output } = job;
    const isRunning = job.left-- > 0;
    if (kind === 'film')
      return JSON.stringify({ id, status: isRunning ? 'in_progress' : succeeds ? 'completed' : 'failed' });
    if (kind === 'message batch') {
      const request_counts = { processing: 0, succeeded: succeeds ? 1 : 0, errored: succeeds ? 0 : 1 };
      return JSON.stringify({ id, processing_status: isRunning ? 'in_progress' : 'ended', request_counts });
    }
    if (isRunning) return JSON.stringify({ id, status: 'in_progress' });
    if (!succeeds)
      return JSON.stringify({ id, status: 'cancelled', request_counts: { completed: 0, total: 1 } });
    const usage = { input_tokens: INPUT, output_tokens: output, total_tokens: INPUT + output };
    return JSON.stringify({ id, status: 'completed', request_counts: { completed: 1, total: 1 }, usage });
  }

  #results({ succeeds, output }: MadeJob): string {
    const usage = { input_tokens: INPUT, output_tokens: output };
    const message = { model: CLAUDE, usage };
    return `${JSON.stringify({ custom_id: '1', result: succeeds ? { type: 'succeeded', message } : { type: 'errored' } })}\n`;
  }
}
