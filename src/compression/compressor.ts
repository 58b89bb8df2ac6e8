import { createWorkerCalls, startBuiltWorker } from '../worker-calls.ts';
import type { Level } from './compress.ts';
import { type CompressedJson, compressJson } from './compress-json.ts';

/** Compresses the JSON of a request's messages: short ones at once, long ones in a thread of their own. */
export interface Compressor {
  compress(json: string, level: Level): CompressedJson | Promise<CompressedJson>;
  close(): Promise<void>;
}

export interface CompressRequest {
  json: string;
  level: Level;
}

/** Up to this many characters it takes a fraction of a millisecond, less than a thread's answer would. */
const MAX_AT_ONCE = 4 * 1024;

export function createCompressor(): Compressor {
  const calls = createWorkerCalls<CompressRequest, CompressedJson>({
    name: 'optimizer',
    startWorker: () => startBuiltWorker('compression/worker.js'),
  });
  return {
    compress: (json, level) =>
      json.length <= MAX_AT_ONCE ? compressJson(json, level) : calls.call({ json, level }),
    close: () => calls.close(),
  };
}
