import { randomBytes } from 'node:crypto';

/**
 * A request id is a safe integer, so that it can be a rowid: 41 bits of milliseconds since 2025, 5 bits of the daemon's
 * slot, 7 bits of sequence. Ids only rise, in the order in which requests come in, and are unique across the daemons of a
 * database. Their milliseconds are those of the clock, unless it was once ahead: records have their own time.
 */
export type RequestId = number;

/** When ids begin. gw is younger, so a clock that shows an earlier time is not set. */
export const EPOCH_MS = Date.UTC(2025, 0, 1);
/** Ids don't follow a clock beyond this: those of 2094 are not safe integers. */
const LIMIT_MS = Date.UTC(2090, 0, 1) - EPOCH_MS;
const SLOTS = 32;
const SEQUENCE = 128;
const PER_MS = SLOTS * SEQUENCE;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TEXT_LENGTH = 11;

/** The number of daemons that can share a database. */
export const MAX_SLOTS = SLOTS;

/** Generates request ids for one daemon. */
export interface RequestIds {
  (): RequestId;
  /** Later ids are greater than that of another daemon, which the clock may have led ahead. */
  follow(id: RequestId): void;
}

/**
 * Generates request ids. Beyond 128 ids per millisecond they run ahead of the clock. All are greater than `after`, the
 * highest id so far, even after the clock was set back.
 */
export function createRequestIds(slot: number, now: () => number, after: RequestId = 0): RequestIds {
  let lastMs = Math.floor(after / PER_MS);
  let sequence = after > 0 ? SEQUENCE - 1 : 0;
  const next = () => {
    const ms = now() - EPOCH_MS;
    if (ms > lastMs && ms <= LIMIT_MS) {
      lastMs = ms;
      sequence = 0;
    } else if (++sequence === SEQUENCE) {
      lastMs++;
      sequence = 0;
    }
    return lastMs * PER_MS + slot * SEQUENCE + sequence;
  };
  const follow = (id: RequestId) => {
    const ms = Math.floor(id / PER_MS);
    if (ms < lastMs) return;
    lastMs = ms;
    sequence = SEQUENCE - 1;
  };
  return Object.assign(next, { follow });
}

/** The time that an id was made of, UTC milliseconds: that of the request, or later if the clock was once ahead. */
export function timeOfRequestId(id: RequestId): number {
  return Math.floor(id / PER_MS) + EPOCH_MS;
}

/** An id that those of all requests from a time on are not below: a bound for an index, beside the record's own time. */
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
