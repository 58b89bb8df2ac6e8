import { hash } from 'node:crypto';
import { orElse } from '../errors.ts';
import { asBuffer, bytesAt } from '../json/bytes.ts';
import { isObject } from '../json/object.ts';
import { skipSpace, skipValue } from '../json/scan.ts';
import type { CompressRequest } from './compress-request.ts';

/** How a conversation's earlier turns were sent. */
type Decision = 'compressed' | 'original';

/** At 100 bytes each, a few megabytes. */
const MAX_KEPT = 20_000;

/**
 * The decision for each conversation, so that a provider finds each prompt's beginning as it has cached it. Forgets the
 * conversations that were used least recently.
 */
export function createDecisions() {
  const kept = new Map<string, Decision>();
  const set = (key: string, decision: Decision): void => {
    kept.delete(key);
    kept.set(key, decision);
    if (kept.size <= MAX_KEPT) return;
    for (const oldest of kept.keys()) return void kept.delete(oldest);
  };
  return {
    /** Undefined until the decision makes a difference. */
    get(key: string): Decision | undefined {
      const decision = kept.get(key);
      if (decision !== undefined) set(key, decision);
      return decision;
    },
    set,
  };
}

/** A message without cache marks, whose text takes longer to write as JSON than to hash. */
const isText = (message: unknown): message is { role: unknown; content: string } =>
  isObject(message) && typeof message.content === 'string' && message.cache_control === undefined;

/** Cache marks move from turn to turn. */
const withoutMarks = (message: unknown): string =>
  JSON.stringify(message, (key, value: unknown) => (key === 'cache_control' ? undefined : value));

/** Parsing and hashing more would keep others waiting. */
const MAX_BEGINNING = 1024 * 1024;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

/** How a conversation begins. */
interface Beginning {
  /** Shared by all its turns. */
  key: string;
  /** Where its first message of the user ends; undefined if there is none. */
  end: number | undefined;
}

/**
 * Reads a key that all turns of a conversation share: a hash of its beginning up to the first message of the user. Reads
 * no further, as later messages can be long, and no more than a megabyte.
 */
export function beginningOf({ bytes: source, form, level }: CompressRequest): Beginning {
  const bytes = asBuffer(source).subarray(0, MAX_BEGINNING);
  const read = [`${form} ${level}`];
  let firstEnd: number | undefined;
  let position = skipSpace(bytes, 0);
  while (bytes[position] === OPEN_BRACKET || bytes[position] === COMMA) {
    const start = skipSpace(bytes, position + 1);
    if (bytes[start] === CLOSE_BRACKET) break;
    // Undefined if the message has been cut off.
    const end = orElse(() => skipValue(bytes, start), undefined);
    if (end === undefined) {
      read.push(bytes.toString('latin1', start));
      break;
    }
    const message: unknown = JSON.parse(bytes.toString('utf8', start, end));
    read.push(isText(message) ? `${message.role}\0${message.content}` : withoutMarks(message));
    if (isObject(message) && message.role === 'user') {
      firstEnd = end;
      break;
    }
    position = skipSpace(bytes, end);
  }
  return { key: hash('sha256', read.join('\0'), 'base64url'), end: firstEnd };
}

/** Beginnings that are kept, 8 MB at most. */
const MAX_BEGINNINGS = 16;
const MAX_KEPT_BYTES = 512 * 1024;

/**
 * Returns a function for the key of `beginningOf`. It reads a beginning once: comparing the next turn with it takes a
 * hundredth of the time.
 */
export function createKeys(): (request: CompressRequest) => string {
  type Kept = Pick<CompressRequest, 'form' | 'level'> & { bytes: Buffer; key: string };
  /** Most recently used first. */
  let kept: Kept[] = [];
  const keepFirst = (first: Kept): void => {
    if (kept[0] === first) return;
    kept = [first, ...kept.filter((each) => each !== first)].slice(0, MAX_BEGINNINGS);
  };
  return (request) => {
    const { form, level } = request;
    const bytes = asBuffer(request.bytes);
    const isOf = (each: Kept) => each.form === form && each.level === level && bytesAt(bytes, 0, each.bytes);
    const known = kept.find(isOf);
    if (known) {
      keepFirst(known);
      return known.key;
    }
    const { key, end = Number.POSITIVE_INFINITY } = beginningOf(request);
    if (end <= MAX_KEPT_BYTES) keepFirst({ form, level, bytes: Buffer.from(bytes.subarray(0, end)), key });
    return key;
  };
}
