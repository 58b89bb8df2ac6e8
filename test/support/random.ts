import { createHash } from 'node:crypto';
import type { Random } from '../../src/ids.ts';

/** Bytes that look random and are the same in every run with the same seed. */
export function seededRandom(seed: number | string): Random {
  let block = 0;
  return (bytes) => {
    const parts: Buffer[] = [];
    for (let length = 0; length < bytes; length += 32) {
      parts.push(createHash('sha256').update(`${seed}/${block++}`).digest());
    }
    return Buffer.concat(parts).subarray(0, bytes);
  };
}
