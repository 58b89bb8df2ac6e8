import { randomBytes } from 'node:crypto';

/**
 * A request id is a safe integer, so that it can be a rowid: 41 bits of milliseconds since 2025, 5 bits of the daemon's
 * slot, 7 bits of sequence. Ids sort by time, and are unique across the daemons of a database.
 */
export type RequestId = number;

const EPOCH_MS = Date.UTC(2025, 0, 1);
const SLOTS = 32;
const SEQUENCE = 128;
const PER_MS = SLOTS * SEQUENCE;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TEXT_LENGTH = 11;

/** The number of daemons that can share a database. */
export const MAX_SLOTS = SLOTS;

/**
 * Generates request ids for one daemon. Beyond 128 ids per millisecond it runs ahead of the clock. All ids are greater
 * than `after`, so that a daemon that starts after the clock was set back doesn't reuse ids of its slot.
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

/** The arrival time of a request, UTC milliseconds. */
export function timeOfRequestId(id: RequestId): number {
  return Math.floor(id / PER_MS) + EPOCH_MS;
}

/** The smallest request id of a time: `id >= requestIdAt(t)` selects requests from `t` on. */
export function requestIdAt(timeMs: number): RequestId {
  return Math.max(0, Math.floor(timeMs) - EPOCH_MS) * PER_MS;
}

/** The id for display: `req_` and 11 characters of Crockford's base32. */
export function formatRequestId(id: RequestId, prefix = 'req'): string {
  let text = '';
  let rest = id;
  for (let i = 0; i < TEXT_LENGTH; i++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${text}`;
}

/** The id of the question that a request's owner is asked: that of the request, with another prefix. */
export const formatAskId = (id: RequestId): string => formatRequestId(id, 'ask');

/** Parses the output of `formatRequestId`; undefined if invalid. */
export function parseRequestId(text: string): RequestId | undefined {
  return parseDigits(text.toLowerCase().replace(/^req_/, ''));
}

/** Parses the output of `formatAskId`; undefined if invalid. */
export function parseAskId(text: string): RequestId | undefined {
  return parseDigits(text.toLowerCase().replace(/^ask_/, ''));
}

function parseDigits(digits: string): RequestId | undefined {
  if (digits.length !== TEXT_LENGTH) return undefined;
  let id = 0;
  for (const digit of digits) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) return undefined;
    id = id * 32 + value;
  }
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Returns random bytes. Tests pass a seeded source. */
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
