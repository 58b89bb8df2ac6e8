import { NOTHING_UNSEEN } from './unseen.ts';
import type { WireRequest } from './wire.ts';

/** A request of which nothing is known but its bytes. */
export function bareRequest(bytes: Buffer): WireRequest {
  return {
    bytes,
    members: [],
    model: '',
    stream: false,
    options: {},
    maxOutputTokens: undefined,
    choices: 1,
    wantsUsage: true,
    unseen: NOTHING_UNSEEN,
    edits: [],
  };
}
