import { randomBytes } from 'node:crypto';

/**
 * A request id is a safe integer, so that it can be a rowid: 41 bits of milliseconds since 2025, 5 bits of the daemon's
 * slot, 7 bits of sequence. Ids increase in the order in which requests arrive and are unique across the daemons of a
 * database. Their milliseconds may be ahead of the clock, so records store their own time.
 */
export type RequestId = number;

/** The first millisecond of ids. A clock that shows an earlier time is wrong, because gw is younger. */
export const EPOCH_MS = Date.UTC(2025, 0, 1);
/** Ids don't follow the clock beyond this: ids of 2094 would not be safe integers. */
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
  /** Makes later ids greater than `id`, an id of another daemon that may be ahead of the clock. */
  follow(id: RequestId): void;
}

/**
 * Creates a generator of request ids. Beyond 128 ids per millisecond they run ahead of the clock. All are greater than
 * `after`, the highest id so far, even if the clock was set back.
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

/** The time encoded in an id, UTC milliseconds: the request's arrival, or later if ids ran ahead of the clock. */
export const timeOfRequestId = (id: RequestId): number => Math.floor(id / PER_MS) + EPOCH_MS;

/** Lower bound of the ids of all requests since `timeMs`, for index searches. Compare the record's own time as well. */
export const requestIdAt = (timeMs: number): RequestId => Math.max(0, Math.floor(timeMs) - EPOCH_MS) * PER_MS;

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

/** The approval id of a request: the request id with another prefix. */
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
