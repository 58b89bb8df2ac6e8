import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { countTokens } from '../../src/tokens/count.ts';
import { createTokenCounter, startTokenWorker, type TokenCounter } from '../../src/tokens/counter.ts';

const BUILT = new URL('../../dist/bundle/', import.meta.url);
const LONG = 'a'.repeat(2_000_000);

beforeAll(() => {
  if (!existsSync(new URL('tokens-worker.js', BUILT)))
    throw new Error('there is no dist/bundle/tokens-worker.js: npm run build');
});

let counter: TokenCounter;
let workers: Worker[];
let timeUp: (() => void) | undefined;

/** A counter whose workers and timers the test holds. */
function createObservedCounter(startWorker = startTokenWorker): void {
  workers = [];
  timeUp = undefined;
  counter = createTokenCounter({
    clock: {
      ...systemClock,
      after(_, callback) {
        timeUp = callback;
        return () => {
          timeUp = undefined;
        };
      },
    },
    startWorker() {
      const worker = startWorker();
      workers.push(worker);
      return worker;
    },
  });
}

afterEach(() => counter.close());

describe('createTokenCounter()', () => {
  it('counts all texts together, as countTokens does', async () => {
    createObservedCounter();
    const texts = ['Hello, world!', '', 'наконец-то 中文 👩‍🚀', 'lone \ud800'];
    for (const encoding of ['o200k_base', 'cl100k_base'] as const) {
      const sum = texts.reduce((tokens, text) => tokens + countTokens(text, encoding), 0);
      expect(await counter.count(texts, encoding)).toBe(sum);
    }
  });

  it('starts one worker, with the first count, and queues', async () => {
    createObservedCounter();
    expect(workers).toHaveLength(0);
    const counts = ['a', 'a b', 'a b c'].map((text) => counter.count([text], 'cl100k_base'));
    expect(await Promise.all(counts)).toEqual([1, 2, 3]);
    expect(workers).toHaveLength(1);
  });

  it('gathers what is not urgent into one message', async () => {
    let messages = 0;
    createObservedCounter(() => {
      const worker = startTokenWorker();
      const post = worker.postMessage.bind(worker);
      worker.postMessage = (...message) => {
        messages++;
        post(...message);
      };
      return worker;
    });
    for (const expected of [1, 2]) {
      const counts = ['a', 'a b', 'a b c'].map((text) => counter.countSoon([text], 'o200k_base'));
      timeUp?.();
      expect(await Promise.all(counts)).toEqual([1, 2, 3]);
      expect(messages).toBe(expected);
    }
  });

  it('rejects what was gathered when it is closed', async () => {
    createObservedCounter();
    const count = counter.countSoon(['a'], 'o200k_base');
    await counter.close();
    timeUp?.();
    await expect(count).rejects.toThrow('the token counter is closed');
  });

  it('stops the worker when it has been idle, and starts another for the next count', async () => {
    createObservedCounter();
    await counter.count(['a'], 'cl100k_base');
    const exit = once(workers[0] as Worker, 'exit');
    timeUp?.();
    await exit;
    expect(await counter.count(['a'], 'cl100k_base')).toBe(1);
    expect(workers).toHaveLength(2);
  });

  it('is not idle while a count is open', async () => {
    createObservedCounter();
    await counter.count(['a'], 'cl100k_base');
    expect(timeUp).toBeDefined();
    const open = counter.count(['a'], 'cl100k_base');
    expect(timeUp).toBeUndefined();
    await open;
    expect(timeUp).toBeDefined();
  });

  it('rejects the open counts when the worker dies, and recovers', async () => {
    createObservedCounter();
    await counter.count(['a'], 'cl100k_base');
    const open = [counter.count([LONG], 'cl100k_base'), counter.count(['a'], 'cl100k_base')];
    void workers[0]?.terminate();
    const outcomes = await Promise.allSettled(open);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await counter.count(['a'], 'cl100k_base')).toBe(1);
    expect(workers).toHaveLength(2);
  });

  it('rejects with the reason when the worker throws', async () => {
    createObservedCounter(() => new Worker('throw new Error("no memory left")', { eval: true }));
    await expect(counter.count(['a'], 'cl100k_base')).rejects.toThrow(
      'the token counter stopped: no memory left',
    );
  });

  it('rejects only the count that fails', async () => {
    createObservedCounter();
    // A cast to ask for what the types rule out: a table that can't be read.
    const broken = expect(counter.count(['a'], 'none' as 'cl100k_base')).rejects.toThrow(
      "the token counter failed: Package subpath './ranks/none'",
    );
    const other = counter.count(['a'], 'cl100k_base');
    await broken;
    expect(await other).toBe(1);
    expect(workers).toHaveLength(1);
  });

  it('rejects open and later counts once it is closed', async () => {
    createObservedCounter();
    const open = expect(counter.count([LONG], 'cl100k_base')).rejects.toThrow('the token counter is closed');
    await counter.close();
    await open;
    await expect(counter.count(['a'], 'cl100k_base')).rejects.toThrow('the token counter is closed');
    await counter.close();
  });

  it('works as built, and its idle worker lets the process end', () => {
    createObservedCounter();
    const script = `import { createTokenCounter } from ${JSON.stringify(new URL('../tokens/counter.js', BUILT).href)};
      console.log(await createTokenCounter().count(['a b c'], 'o200k_base'));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: 30_000,
    });
    expect(output.toString().trim()).toBe('3');
  });
});
