import { answerCalls } from '../worker-calls.ts';
import { compressJson } from './compress-json.ts';
import type { CompressRequest } from './compressor.ts';

/** The thread behind `createCompressor`. */
answerCalls(({ json, level }: CompressRequest) => compressJson(json, level));
