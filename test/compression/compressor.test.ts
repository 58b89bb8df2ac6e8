import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CompressedRequest, CompressRequest } from '../../src/compression/compress-request.ts';
import { createCompressor } from '../../src/compression/compressor.ts';
import { scriptedWorkers } from '../support/scripted-worker.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const ANSWER: CompressedRequest = {
  edits: [{ start: 1, end: 2, text: 'x' }],
  savings: [],
  originalTokens: 1_000,
  conversation: 1,
  work: { changed: {}, left: {} },
};
const COLD_MS = 1_000;

function requestOf(kilobytes: number, name = '', turn = 0): CompressRequest {
  const user = { role: 'user', content: name + 'x'.repeat(kilobytes * 1024) };
  const later = Array.from({ length: turn }, (_, i) => ({ role: 'assistant', content: `turn ${i}` }));
  return { bytes: Buffer.from(JSON.stringify([user, ...later])), form: 'chat', level: 'safe' };
}

/** A compressor whose thread and time the test holds. */
function observed() {
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const { workers, startWorker } = scriptedWorkers();
  const compressor = createCompressor({ clock, startWorker, warn: (message) => warnings.push(message) });
  const outcomes: unknown[] = [];
  const turns = new Map<string, number>();
  /** Asks for the compression of a conversation's next turn, a long one; what comes of it goes to `outcomes`. */
  async function ask(name: string, limitMs = 100): Promise<void> {
    const turn = turns.get(name) ?? 0;
    turns.set(name, turn + 1);
    void Promise.resolve(compressor.compress(requestOf(10, name, turn), limitMs)).then(
      (answer) => outcomes.push([name, answer]),
      (error: Error) => outcomes.push([name, error.message]),
    );
    await setImmediate();
  }
  async function answer(worker = workers.at(-1)): Promise<void> {
    worker?.answer(ANSWER);
    await setImmediate();
  }
  async function warm(): Promise<void> {
    for (let i = 0; i < 4; i++) {
      await ask('to get warm');
      await answer();
    }
    outcomes.length = 0;
  }
  return { clock, compressor, workers, warnings, outcomes, ask, answer, warm };
}

describe('a compressor', () => {
  it('does short prompts at once, without a thread', () => {
    const { compressor, workers } = observed();
    expect(compressor.compress(requestOf(3), 50)).toMatchObject({ edits: [], savings: [] });
    expect(workers).toEqual([]);
  });

  it('gives a cold thread time to start and to compile its code, and no more to a warm one', async () => {
    const { clock, ask, answer, outcomes } = observed();
    for (let i = 0; i < 4; i++) {
      await ask('cold');
      await clock.advance(COLD_MS + 99);
      await answer();
      expect(outcomes.pop()).toEqual(['cold', ANSWER]);
    }
    await ask('warm');
    await clock.advance(100);
    expect(outcomes).toEqual([['warm', undefined]]);
  });

  it('gives up on a thread that does not start in time, and has it for the prompts to come', async () => {
    const { clock, ask, answer, outcomes, workers } = observed();
    await ask('cold');
    await clock.advance(COLD_MS + 100);
    expect(outcomes).toEqual([['cold', undefined]]);
    await answer();
    await ask('next');
    await answer();
    expect(outcomes.at(-1)).toEqual(['next', ANSWER]);
    expect(workers).toHaveLength(1);
  });

  it('is started ahead of the first prompt', async () => {
    const { compressor, ask, answer, outcomes, workers } = observed();
    compressor.warmUp();
    compressor.warmUp();
    expect(workers[0]?.open).toHaveLength(1);
    await answer();
    compressor.warmUp();
    await ask('first');
    await answer();
    expect(outcomes).toEqual([['first', ANSWER]]);
    expect(workers).toHaveLength(1);
  });

  it('counts the time behind other prompts, and does not begin with what is too late', async () => {
    const { clock, warm, ask, answer, outcomes, workers } = observed();
    await warm();
    await ask('first', 100);
    await clock.advance(60);
    await ask('second', 50);
    await ask('third', 200);
    await clock.advance(50);
    expect(outcomes).toEqual([
      ['first', undefined],
      ['second', undefined],
    ]);
    expect(workers[0]?.open).toHaveLength(1);
    await answer();
    expect(workers[0]?.open).toHaveLength(1);
    await answer();
    expect(outcomes.at(-1)).toEqual(['third', ANSWER]);
    expect(workers[0]?.open).toEqual([]);
  });

  it('replaces a thread that is stuck, and says so', async () => {
    const { clock, warm, ask, answer, outcomes, workers, warnings } = observed();
    await warm();
    await ask('stuck');
    await clock.advance(2_000);
    expect(workers[0]?.stopped).toBe(false);
    await clock.advance(100);
    expect(workers[0]?.stopped).toBe(true);
    expect(warnings).toEqual([expect.stringContaining('the optimizer was stuck')]);
    await ask('next');
    await answer();
    expect(outcomes).toEqual([
      ['stuck', undefined],
      ['next', ANSWER],
    ]);
    expect(workers).toHaveLength(2);
  });

  it('lets a thread take its time to start, but not forever', async () => {
    const { clock, compressor, workers } = observed();
    compressor.warmUp();
    await clock.advance(29_000);
    expect(workers[0]?.stopped).toBe(false);
    await clock.advance(2_000);
    expect(workers[0]?.stopped).toBe(true);
  });

  it('waits for a conversation that was sent compressed, whatever the limit', async () => {
    const { clock, warm, ask, answer, outcomes } = observed();
    await warm();
    await ask('agent');
    await answer();
    await ask('other');
    await ask('agent', 50);
    await clock.advance(1_000);
    // Behind one that was given up.
    expect(outcomes.slice(1)).toEqual([['other', undefined]]);
    await answer();
    await clock.advance(1_000);
    await answer();
    expect(outcomes.at(-1)).toEqual(['agent', ANSWER]);
  });

  it('sends a conversation as it is from the turn on that was too late', async () => {
    const { clock, warm, ask, answer, outcomes, workers } = observed();
    await warm();
    await ask('agent');
    await clock.advance(100);
    await answer();
    await ask('agent');
    expect(workers[0]?.open).toEqual([]);
    expect(outcomes).toEqual([
      ['agent', undefined],
      ['agent', undefined],
    ]);
  });

  it('decides once for turns that run at the same time', async () => {
    const { clock, warm, ask, answer, outcomes } = observed();
    await warm();
    await ask('agent', 50);
    await ask('agent', 500);
    await clock.advance(50);
    await answer();
    await answer();
    expect(outcomes).toEqual([
      ['agent', undefined],
      ['agent', undefined],
    ]);
  });

  it('may still be late for a conversation in which nothing could be changed', async () => {
    const { clock, warm, ask, workers, outcomes } = observed();
    await warm();
    await ask('plain');
    workers[0]?.answer({ ...ANSWER, edits: [] });
    await setImmediate();
    await ask('plain');
    await clock.advance(100);
    expect(outcomes.at(-1)).toEqual(['plain', undefined]);
  });

  it('does a prompt that it is given again at once, as long as it is the last of its conversation', async () => {
    const { compressor, answer, workers } = observed();
    const first = compressor.compress(requestOf(10, 'agent'), 100);
    await answer();
    expect(await first).toEqual(ANSWER);
    expect(compressor.compress(requestOf(10, 'agent'), 100)).toEqual(ANSWER);
    expect(compressor.compress({ ...requestOf(10, 'agent'), level: 'balanced' }, 100)).toBeInstanceOf(
      Promise,
    );
    await answer();
    const next = compressor.compress(requestOf(10, 'agent', 1), 100);
    expect(next).toBeInstanceOf(Promise);
    workers[0]?.answer({ ...ANSWER, originalTokens: 2_000 });
    await next;
    expect(compressor.compress(requestOf(10, 'agent', 1), 100)).toMatchObject({ originalTokens: 2_000 });
    expect(compressor.compress(requestOf(10, 'agent'), 100)).toBeInstanceOf(Promise);
    await answer();
  });

  it('does a prompt once that comes several times at once', async () => {
    const { compressor, answer } = observed();
    const answers = [1, 2, 3].map(() => compressor.compress(requestOf(10, 'agent'), 100));
    await answer();
    expect(await Promise.all(answers)).toEqual([ANSWER, ANSWER, ANSWER]);
  });

  it('tells at once of a thread that breaks down, and leaves no timer', async () => {
    const { clock, ask, outcomes, workers } = observed();
    await ask('broken');
    workers[0]?.emit('error', new Error('no memory'));
    await setImmediate();
    expect(outcomes).toEqual([['broken', 'the optimizer stopped: no memory']]);
    expect(clock.timers).toBe(0);
  });
});

it('compresses in its real thread as it does at once', async () => {
  const compressor = createCompressor();
  onTestFinished(() => compressor.close());
  const rows = Array.from({ length: 300 }, (_, id) => ({ id, name: `item ${id} é`, state: 'active' }));
  const conversation = [
    { role: 'user', content: 'List them. 漢字' },
    { role: 'tool', tool_call_id: 'a', content: JSON.stringify(rows) },
  ];
  // A view of a larger memory, as bodies are.
  const bytes = Buffer.from(`___${JSON.stringify(conversation)}___`).subarray(3, -3);
  const { compressRequest } = await import('../../src/compression/compress-request.ts');
  const request: CompressRequest = { bytes, form: 'chat', level: 'safe' };
  const twice = await Promise.all([1, 2].map(() => compressor.compress(request, 60_000)));
  expect(twice).toEqual([compressRequest(request), compressRequest(request)]);
  expect(twice[0]?.edits).toHaveLength(1);
});
