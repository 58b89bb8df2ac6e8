import { randomBytes } from 'node:crypto';

/**
 * Ids. A request id is one safe integer, so that it can be a rowid: 41 bits of milliseconds since 2025,
 * 5 bits of the daemon's slot, 7 bits of sequence. It sorts by time, and two daemons never make the same.
 */
export type RequestId = number;

const EPOCH_MS = Date.UTC(2025, 0, 1);
const SLOTS = 32;
const SEQUENCE = 128;
const PER_MS = SLOTS * SEQUENCE;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TEXT_LENGTH = 11;

/** How many daemons can share a database. */
export const MAX_SLOTS = SLOTS;

/**
 * Makes request ids for one daemon; when more than 128 are asked for in a millisecond, it runs ahead. All come later
 * than `after`: a daemon that starts with a clock that was set back must not make the ids of its slot again.
 */
export function createRequestIds(slot: number, now: () => number, after: RequestId = 0): () => RequestId {
  let lastMs = Math.floor(after / PER_MS);
  let sequence = after > 0 ? SEQUENCE - 1 : 0;
  return () => {
    const ms = now() - EPOCH_MS;
    if (ms > lastMs) {
      lastMs = ms;
      sequence = 0;
    } else if (++sequence === SEQUENCE) {
      lastMs++;
      sequence = 0;
    }
    return lastMs * PER_MS + slot * SEQUENCE + sequence;
  };
}

/** When the request with this id came in, UTC milliseconds. */
export function timeOfRequestId(id: RequestId): number {
  return Math.floor(id / PER_MS) + EPOCH_MS;
}

/** The smallest request id of a time: `id >= requestIdAt(t)` selects what came in at or after `t`. */
export function requestIdAt(timeMs: number): RequestId {
  return Math.max(0, Math.floor(timeMs) - EPOCH_MS) * PER_MS;
}

/** The id as people see it: `req_` and 11 characters of Crockford's base 32. */
export function formatRequestId(id: RequestId): string {
  let text = '';
  let rest = id;
  for (let i = 0; i < TEXT_LENGTH; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return `req_${text}`;
}

/** Reads what `formatRequestId` made; undefined if it is none. */
export function parseRequestId(text: string): RequestId | undefined {
  const digits = text.toLowerCase().replace(/^req_/, '');
  if (digits.length !== TEXT_LENGTH) return undefined;
  let id = 0;
  for (const digit of digits) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) return undefined;
    id = id * 32 + value;
  }
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Random bytes; tests pass a seeded source. */
export type Random = (bytes: number) => Buffer;
export const systemRandom: Random = (bytes) => randomBytes(bytes);

/** A new API key: `sk-gw-` and 256 random bits. */
export function newApiKey(random: Random = systemRandom): string {
  return `sk-gw-${random(32).toString('base64url')}`;
}

/** A random id such as `evt_3f...` with 128 bits. */
export function newId(prefix: string, random: Random = systemRandom): string {
  return `${prefix}_${random(16).toString('hex')}`;
}
