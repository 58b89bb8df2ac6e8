import { type Clock, systemClock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import type { UnzstdAnswer, UnzstdRequest } from './unzstd-worker.ts';

/** Several times what the largest bodies take. */
const MAX_MS = 10_000;

/** One thread for the process: it starts with the first body and ends when it has been idle for a minute. */
const calls = createWorkerCalls<UnzstdRequest, UnzstdAnswer>({
  name: 'zstd decoder',
  startWorker: () => startBuiltWorker('unzstd-worker'),
});
let last: Promise<unknown> = Promise.resolve();

/** The thread has failed, which is no fault of the body. */
class DecoderFailed extends Error {}

interface UnzstdOptions {
  maxOutputLength: number;
  clock?: Clock;
  /** Takes memory for what has been decoded; may wait, and throws where there is none. */
  take?: (bytes: number) => Promise<void> | undefined;
}

/**
 * Decodes zstd in a Node without it. Rejects as `zlib` does: a body that grows too large has the code
 * `ERR_BUFFER_TOO_LARGE`. Bodies are decoded one after the other, as one that takes too long stops the thread, and the
 * next is not decoded before there is room for the last.
 */
export function unzstdInThread(body: Buffer, options: UnzstdOptions): Promise<Buffer> {
  const decoded = last.then(async () => {
    const bytes = await decode(body, options);
    await options.take?.(bytes.length);
    return bytes;
  });
  last = decoded.catch(() => {});
  return decoded;
}

async function decode(
  body: Buffer,
  { maxOutputLength, clock = systemClock }: UnzstdOptions,
): Promise<Buffer> {
  let isLate = false;
  const cancel = clock.after(MAX_MS, () => {
    isLate = true;
    void calls.restart();
  });
  try {
    const answer = await calls.call({ body, maxBytes: maxOutputLength }).catch((cause: unknown) => {
      if (isLate) throw new Error(`it takes longer than ${MAX_MS} ms to decode`);
      throw new DecoderFailed(messageOf(cause), { cause });
    });
    if ('invalid' in answer) throw new Error(answer.invalid);
    if (answer.bytes) return Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.length);
    throw Object.assign(new Error('the decoded body is too large'), { code: 'ERR_BUFFER_TOO_LARGE' });
  } finally {
    cancel();
  }
}
