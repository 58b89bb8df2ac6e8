import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { systemClock } from '../../clock.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import type { UnzstdRequest } from './unzstd-worker.ts';

type Unzstd = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** Undefined before Node 22.15. */
const { zstdDecompress } = zlib as { zstdDecompress?: typeof zlib.gunzip };

/** Decodes zstd. Rejects as `zlib` does: a body that grows too large has the code `ERR_BUFFER_TOO_LARGE`. */
export const unzstd: Unzstd = zstdDecompress ? (promisify(zstdDecompress) as Unzstd) : unzstdInThread;

/** Several times what the largest bodies take. */
const MAX_MS = 10_000;

/** One thread for the process: it starts with the first body and ends when it has been idle for a minute. */
const calls = createWorkerCalls<UnzstdRequest, Uint8Array | undefined>({
  name: 'zstd decoder',
  startWorker: () => startBuiltWorker('gateway/intake/unzstd-worker.js'),
});
let last: Promise<unknown> = Promise.resolve();

/** For a Node without zstd. Bodies are decoded one after the other, as one that takes too long stops the thread. */
export function unzstdInThread(
  body: Buffer,
  { maxOutputLength, clock = systemClock }: { maxOutputLength: number; clock?: typeof systemClock },
): Promise<Buffer> {
  const decoded = last.then(async () => {
    const cancel = clock.after(MAX_MS, () => void calls.restart());
    try {
      return await calls.call({ body, maxBytes: maxOutputLength });
    } finally {
      cancel();
    }
  });
  last = decoded.catch(() => {});
  return decoded.then((bytes) => {
    if (bytes) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    throw Object.assign(new Error('the decoded body is too large'), { code: 'ERR_BUFFER_TOO_LARGE' });
  });
}
