import { answerCalls } from '../../worker-calls.ts';
import { decodeZstd } from './decode-zstd.ts';

export interface UnzstdRequest {
  body: Uint8Array;
  maxBytes: number;
}

/** The worker thread of `unzstdInThread`. */
answerCalls(({ body, maxBytes }: UnzstdRequest) => decodeZstd(body, maxBytes));
