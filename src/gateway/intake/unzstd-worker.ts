import { messageOf } from '../../errors.ts';
import { answerCalls } from '../../worker-calls.ts';
import { decodeZstd } from './decode-zstd.ts';

export interface UnzstdRequest {
  body: Uint8Array;
  maxBytes: number;
}

/** The decoded body, undefined if it is too large, or what is wrong with it. */
export type UnzstdAnswer = { bytes: Uint8Array | undefined } | { invalid: string };

/** The worker thread of `unzstdInThread`. */
answerCalls(({ body, maxBytes }: UnzstdRequest): UnzstdAnswer => {
  try {
    return { bytes: decodeZstd(body, maxBytes) };
  } catch (error) {
    return { invalid: messageOf(error) };
  }
});
